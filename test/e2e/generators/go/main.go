// Calls a service by the clients that openapi-generator has made of its documents, as somebody's own program would.
package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
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

func must[Value any](value Value, err error) Value {
	if err != nil {
		panic(err)
	}
	return value
}

// Of what a call answers: the document, and no error.
func done[Value any](value Value, _ *http.Response, err error) Value { return must(value, err) }

func connect() *http.Client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(must(os.ReadFile(site.CaFile)))
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
}

func nameOf(output string) string {
	path := must(url.Parse(output)).EscapedPath()
	return must(url.PathUnescape(path[strings.LastIndex(path, "/")+1:]))
}

func read(executionId string, output string, file *os.File) download {
	digest := sha256.Sum256(must(io.ReadAll(file)))
	return download{executionId, nameOf(output), hex.EncodeToString(digest[:])}
}

func helloClient(key string) (*hello.APIClient, context.Context) {
	settings := hello.NewConfiguration()
	settings.Servers = hello.ServerConfigurations{{URL: site.Url}}
	settings.HTTPClient = connect()
	keys := map[string]hello.APIKey{"apiKey": {Key: key}}
	return hello.NewAPIClient(settings), context.WithValue(context.Background(), hello.ContextAPIKeys, keys)
}

func callHello() download {
	client, ctx := helloClient(site.Examples["hello"].ApiKey)
	inputs := *hello.NewWorkflowInputs()
	inputs.SetName("Ada")
	result := done(client.WorkflowsAPI.ExecuteWorkflow(ctx).WorkflowInputs(inputs).Execute())
	output := result.Outputs.Greeting
	return read(result.ExecutionId, output, done(client.ExecutionsAPI.ReadFile(ctx, result.ExecutionId, nameOf(output)).Execute()))
}

func refused() string {
	client, ctx := helloClient("trd_wrong")
	_, _, err := client.WorkflowsAPI.ExecuteWorkflow(ctx).WorkflowInputs(*hello.NewWorkflowInputs()).Execute()
	var answer struct{ Error string }
	_ = json.Unmarshal(err.(*hello.GenericOpenAPIError).Body(), &answer)
	return answer.Error
}

func callNightly() download {
	settings := nightly.NewConfiguration()
	settings.Servers = nightly.ServerConfigurations{{URL: site.Url}}
	settings.HTTPClient = connect()
	keys := map[string]nightly.APIKey{"apiKey": {Key: site.Examples["nightly"].ApiKey}}
	client, ctx := nightly.NewAPIClient(settings), context.WithValue(context.Background(), nightly.ContextAPIKeys, keys)
	team := []any{map[string]any{"name": "Ada", "hours_per_week": 40}}
	result := done(client.WorkflowsAPI.ExecuteWorkflow(ctx).WorkflowInputs(*nightly.NewWorkflowInputs(team)).Execute())
	output := result.Outputs.Capacity
	return read(result.ExecutionId, output, done(client.ExecutionsAPI.ReadFile(ctx, result.ExecutionId, nameOf(output)).Execute()))
}

func callKinds() download {
	settings := kinds.NewConfiguration()
	settings.Servers = kinds.ServerConfigurations{{URL: site.Url}}
	settings.HTTPClient = connect()
	keys := map[string]kinds.APIKey{"apiKey": {Key: site.Examples["kinds"].ApiKey}}
	client, ctx := kinds.NewAPIClient(settings), context.WithValue(context.Background(), kinds.ContextAPIKeys, keys)
	inputs := *kinds.NewWorkflowInputs("Ada", []kinds.OptionColors{kinds.DARK_BLUE})
	inputs.SetSize("L")
	result := done(client.WorkflowsAPI.ExecuteWorkflow(ctx).WorkflowInputs(inputs).Execute())
	output := result.Outputs.Echo
	return read(result.ExecutionId, output, done(client.ExecutionsAPI.ReadFile(ctx, result.ExecutionId, nameOf(output)).Execute()))
}

func callMergeFiles() download {
	settings := merge_files.NewConfiguration()
	settings.Servers = merge_files.ServerConfigurations{{URL: site.Url}}
	settings.HTTPClient = connect()
	keys := map[string]merge_files.APIKey{"apiKey": {Key: site.Examples["merge-files"].ApiKey}}
	client, ctx := merge_files.NewAPIClient(settings), context.WithValue(context.Background(), merge_files.ContextAPIKeys, keys)
	files := []*os.File{}
	for _, path := range site.Files {
		files = append(files, must(os.Open(path)))
	}
	result := done(client.WorkflowsAPI.ExecuteWorkflow(ctx).Files(files).Execute())
	output := result.Outputs.Merged
	return read(result.ExecutionId, output, done(client.ExecutionsAPI.ReadFile(ctx, result.ExecutionId, nameOf(output)).Execute()))
}

func callSalesReport() download {
	settings := sales_report.NewConfiguration()
	settings.Servers = sales_report.ServerConfigurations{{URL: site.Url}}
	settings.HTTPClient = connect()
	keys := map[string]sales_report.APIKey{"apiKey": {Key: site.Examples["sales-report"].ApiKey}}
	client, ctx := sales_report.NewAPIClient(settings), context.WithValue(context.Background(), sales_report.ContextAPIKeys, keys)
	result := done(client.WorkflowsAPI.ExecuteWorkflow(ctx).Orders(must(os.Open(site.Orders))).Region("EU").Execute())
	output := result.Outputs.Report
	return read(result.ExecutionId, output, done(client.ExecutionsAPI.ReadFile(ctx, result.ExecutionId, nameOf(output)).Execute()))
}

func callService() download {
	settings := service.NewConfiguration()
	settings.Servers = service.ServerConfigurations{{URL: site.Url}}
	settings.HTTPClient = connect()
	keys := map[string]service.APIKey{"apiKey": {Key: site.Examples["hello"].ApiKey}}
	client, ctx := service.NewAPIClient(settings), context.WithValue(context.Background(), service.ContextAPIKeys, keys)
	call := client.WorkflowsAPI.ExecuteWorkflow(ctx, site.Examples["hello"].WorkflowId)
	result := done(call.RequestBody(map[string]any{"name": "Ada"}).Execute())
	output := result.Outputs["greeting"]
	return read(result.ExecutionId, output, done(client.ExecutionsAPI.ReadFile(ctx, result.ExecutionId, nameOf(output)).Execute()))
}

func main() {
	if err := json.Unmarshal(must(os.ReadFile(os.Args[1])), &site); err != nil {
		panic(err)
	}
	found := map[string]any{
		"hello":        callHello(),
		"nightly":      callNightly(),
		"merge-files":  callMergeFiles(),
		"sales-report": callSalesReport(),
		"kinds":        callKinds(),
		"service":      callService(),
		"refused":      refused(),
	}
	fmt.Println(string(must(json.Marshal(found))))
}
