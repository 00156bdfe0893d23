// Calls a service by the clients that oapi-codegen has made of its documents, as somebody's own program would.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"treadle.test/clients/hello"
	"treadle.test/clients/kinds"
	"treadle.test/clients/merge_files"
	"treadle.test/clients/nightly"
	"treadle.test/clients/sales_report"
	"treadle.test/clients/service"
)

type workflow struct{ WorkflowId, ApiKey string }

var site struct {
	Url, CaFile string
	Examples    map[string]workflow
	Files       []string
	Orders      string
}

type download struct {
	ExecutionId string `json:"executionId"`
	FileName    string `json:"fileName"`
	Sha256      string `json:"sha256"`
}

var background = context.Background()

func must[Value any](value Value, err error) Value {
	if err != nil {
		panic(err)
	}
	return value
}

func connect() *http.Client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(must(os.ReadFile(site.CaFile)))
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
}

func withKey(key string) func(context.Context, *http.Request) error {
	return func(_ context.Context, request *http.Request) error {
		request.Header.Set("x-api-key", key)
		return nil
	}
}

func keyOf(example string) func(context.Context, *http.Request) error {
	return withKey(site.Examples[example].ApiKey)
}

func nameOf(output string) string {
	path := must(url.Parse(output)).EscapedPath()
	return must(url.PathUnescape(path[strings.LastIndex(path, "/")+1:]))
}

// Any of the clients: all have the same function for files.
func read(example, executionId, output string) download {
	client := must(hello.NewClientWithResponses(site.Url, hello.WithHTTPClient(connect()), hello.WithRequestEditorFn(keyOf(example))))
	file := must(client.ReadFileWithResponse(background, executionId, nameOf(output), nil))
	digest := sha256.Sum256(file.Body)
	return download{executionId, nameOf(output), hex.EncodeToString(digest[:])}
}

func toForm(values map[string]string, name string, files ...string) (string, io.Reader) {
	body := &bytes.Buffer{}
	form := multipart.NewWriter(body)
	for key, value := range values {
		_ = form.WriteField(key, value)
	}
	for _, path := range files {
		_ = must(must(form.CreateFormFile(name, filepath.Base(path))).Write(must(os.ReadFile(path))))
	}
	_ = form.Close()
	return form.FormDataContentType(), body
}

func callHello() (download, string) {
	client := must(hello.NewClientWithResponses(site.Url, hello.WithHTTPClient(connect()), hello.WithRequestEditorFn(keyOf("hello"))))
	name, times := "Ada", 2
	result := must(client.ExecuteWorkflowWithResponse(background, nil, hello.WorkflowInputs{Name: &name, Times: &times})).JSON200
	log := must(client.ReadLogWithResponse(background, result.ExecutionId, nil))
	return read("hello", result.ExecutionId, result.Outputs.Greeting), string(log.Body)
}

func refused() string {
	client := must(hello.NewClientWithResponses(site.Url, hello.WithHTTPClient(connect()), hello.WithRequestEditorFn(withKey("trd_wrong"))))
	return string(must(client.ExecuteWorkflowWithResponse(background, nil, hello.WorkflowInputs{})).JSON401.Error)
}

func callNightly() download {
	client := must(nightly.NewClientWithResponses(site.Url, nightly.WithHTTPClient(connect()), nightly.WithRequestEditorFn(keyOf("nightly"))))
	weeks, team := 2, []any{map[string]any{"name": "Ada", "hours_per_week": 40}}
	result := must(client.ExecuteWorkflowWithResponse(background, nil, nightly.WorkflowInputs{Team: team, Weeks: &weeks})).JSON200
	return read("nightly", result.ExecutionId, result.Outputs.Capacity)
}

func callKinds() download {
	client := must(kinds.NewClientWithResponses(site.Url, kinds.WithHTTPClient(connect()), kinds.WithRequestEditorFn(keyOf("kinds"))))
	inputs := kinds.WorkflowInputs{Name: "Ada", Colors: []kinds.OptionColors{kinds.DarkBlue}}
	result := must(client.ExecuteWorkflowWithResponse(background, nil, inputs)).JSON200
	return read("kinds", result.ExecutionId, result.Outputs.Echo)
}

func callMergeFiles() download {
	client := must(merge_files.NewClientWithResponses(site.Url, merge_files.WithHTTPClient(connect()), merge_files.WithRequestEditorFn(keyOf("merge-files"))))
	contentType, body := toForm(nil, "files", site.Files...)
	result := must(client.ExecuteWorkflowWithBodyWithResponse(background, nil, contentType, body)).JSON200
	return read("merge-files", result.ExecutionId, result.Outputs.Merged)
}

func callSalesReport() download {
	client := must(sales_report.NewClientWithResponses(site.Url, sales_report.WithHTTPClient(connect()), sales_report.WithRequestEditorFn(keyOf("sales-report"))))
	contentType, body := toForm(map[string]string{"region": string(sales_report.EU)}, "orders", site.Orders)
	result := must(client.ExecuteWorkflowWithBodyWithResponse(background, nil, contentType, body)).JSON200
	return read("sales-report", result.ExecutionId, result.Outputs.Report)
}

func callService() download {
	client := must(service.NewClientWithResponses(site.Url, service.WithHTTPClient(connect()), service.WithRequestEditorFn(keyOf("hello"))))
	inputs := service.WorkflowInputs{"name": "Ada"}
	result := must(client.ExecuteWorkflowWithResponse(background, site.Examples["hello"].WorkflowId, nil, inputs)).JSON200
	return read("hello", result.ExecutionId, result.Outputs["greeting"])
}

func main() {
	if err := json.Unmarshal(must(os.ReadFile(os.Args[1])), &site); err != nil {
		panic(err)
	}
	greeted, log := callHello()
	found := map[string]any{
		"hello":        greeted,
		"log":          log,
		"nightly":      callNightly(),
		"merge-files":  callMergeFiles(),
		"sales-report": callSalesReport(),
		"kinds":        callKinds(),
		"service":      callService(),
		"refused":      refused(),
	}
	fmt.Println(string(must(json.Marshal(found))))
}
