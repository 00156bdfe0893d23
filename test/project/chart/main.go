// Renders a chart with several sets of values, as Helm would, and prints the objects. Standard input is one JSON document:
// {"chart": FOLDER, "sets": {NAME: VALUES}}. Standard output is one as well: {NAME: {"objects": [...], "error": "..."}}.
package main

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
	"sigs.k8s.io/yaml"
)

type request struct {
	Chart string                      `json:"chart"`
	Sets  map[string]chartutil.Values `json:"sets"`
}

type rendered struct {
	Objects []json.RawMessage `json:"objects"`
	Notes   string            `json:"notes"`
	Error   string            `json:"error,omitempty"`
}

func main() {
	var asked request
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		panic(err)
	}
	answers := map[string]rendered{}
	for name, values := range asked.Sets {
		// Read anew for each: rendering changes the chart's own values.
		loaded, err := loader.Load(asked.Chart)
		if err != nil {
			panic(err)
		}
		answers[name] = render(loaded, values)
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		panic(err)
	}
}

func render(loaded *chart.Chart, values chartutil.Values) rendered {
	release := chartutil.ReleaseOptions{Name: "treadle", Namespace: "default", Revision: 1, IsInstall: true}
	// Checks the values by the chart's schema, too.
	given, err := chartutil.ToRenderValues(loaded, values, release, chartutil.DefaultCapabilities)
	if err != nil {
		return rendered{Error: err.Error()}
	}
	files, err := engine.Engine{Strict: true}.Render(loaded, given)
	if err != nil {
		return rendered{Error: err.Error()}
	}
	found := rendered{Objects: []json.RawMessage{}}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(path, "NOTES.txt") {
			found.Notes = files[path]
			continue
		}
		documents := releaseutil.SplitManifests(files[path])
		for _, key := range slices.Sorted(maps.Keys(documents)) {
			object, err := yaml.YAMLToJSONStrict([]byte(documents[key]))
			if err != nil {
				return rendered{Error: path + ": " + err.Error()}
			}
			if string(object) != "null" {
				found.Objects = append(found.Objects, object)
			}
		}
	}
	return found
}
