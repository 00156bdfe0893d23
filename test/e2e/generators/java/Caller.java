import com.google.gson.Gson;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.File;
import java.io.FileInputStream;
import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;

/** Calls a service by the clients that openapi-generator has made of its documents, as somebody's own program would. */
public class Caller {
  interface Download {
    File read(String executionId, String fileName) throws Exception;
  }

  private static JsonObject site;

  public static void main(String[] args) throws Exception {
    site = JsonParser.parseString(Files.readString(Path.of("site.json"))).getAsJsonObject();
    Map<String, Object> found = new LinkedHashMap<>();
    found.put("hello", hello());
    found.put("nightly", nightly());
    found.put("merge-files", mergeFiles());
    found.put("sales-report", salesReport());
    found.put("service", service());
    found.put("kinds", kinds());
    found.put("refused", refused());
    System.out.println(new Gson().toJson(found));
    System.exit(0);
  }

  private static Map<String, String> hello() throws Exception {
    hello.client.ApiClient client = connectHello(keyOf("hello"));
    hello.model.WorkflowInputs inputs = new hello.model.WorkflowInputs().name("Ada").times(2);
    hello.model.Success result = new hello.api.WorkflowsApi(client).executeWorkflow(inputs, null, null, null, null);
    hello.api.ExecutionsApi api = new hello.api.ExecutionsApi(client);
    return read(result.getExecutionId(), result.getOutputs().getGreeting(), (id, name) -> api.readFile(id, name, null, null, null, null, null, null));
  }

  private static String refused() throws Exception {
    try {
      new hello.api.WorkflowsApi(connectHello("trd_wrong")).executeWorkflow(new hello.model.WorkflowInputs(), null, null, null, null);
      return "not refused";
    } catch (hello.client.ApiException error) {
      return JsonParser.parseString(error.getResponseBody()).getAsJsonObject().get("error").getAsString();
    }
  }

  private static Map<String, String> nightly() throws Exception {
    nightly.client.ApiClient client = new nightly.client.ApiClient();
    client.setBasePath(url()).setSslCaCert(authority()).setReadTimeout(120_000).setApiKey(keyOf("nightly"));
    List<Map<String, Object>> team = List.of(Map.of("name", "Ada", "hours_per_week", 40));
    nightly.model.WorkflowInputs inputs = new nightly.model.WorkflowInputs().team(team).weeks(2);
    nightly.model.Success result = new nightly.api.WorkflowsApi(client).executeWorkflow(inputs, null, null, null, null);
    nightly.api.ExecutionsApi api = new nightly.api.ExecutionsApi(client);
    return read(result.getExecutionId(), result.getOutputs().getCapacity(), (id, name) -> api.readFile(id, name, null, null, null, null, null, null));
  }

  private static Map<String, String> mergeFiles() throws Exception {
    merge_files.client.ApiClient client = new merge_files.client.ApiClient();
    client.setBasePath(url()).setSslCaCert(authority()).setReadTimeout(120_000).setApiKey(keyOf("merge-files"));
    List<File> files = new ArrayList<>();
    site.getAsJsonArray("files").forEach(path -> files.add(new File(path.getAsString())));
    merge_files.model.Success result = new merge_files.api.WorkflowsApi(client).executeWorkflow(files, null, null, null, null, null, null);
    merge_files.api.ExecutionsApi api = new merge_files.api.ExecutionsApi(client);
    return read(result.getExecutionId(), result.getOutputs().getMerged(), (id, name) -> api.readFile(id, name, null, null, null, null, null, null));
  }

  private static Map<String, String> salesReport() throws Exception {
    sales_report.client.ApiClient client = new sales_report.client.ApiClient();
    client.setBasePath(url()).setSslCaCert(authority()).setReadTimeout(120_000).setApiKey(keyOf("sales-report"));
    File orders = new File(site.get("orders").getAsString());
    sales_report.model.Success result = new sales_report.api.WorkflowsApi(client).executeWorkflow(orders, null, null, null, null, "EU", 5, null);
    sales_report.api.ExecutionsApi api = new sales_report.api.ExecutionsApi(client);
    return read(result.getExecutionId(), result.getOutputs().getReport(), (id, name) -> api.readFile(id, name, null, null, null, null, null, null));
  }

  private static Map<String, String> service() throws Exception {
    service.client.ApiClient client = new service.client.ApiClient();
    client.setBasePath(url()).setSslCaCert(authority()).setReadTimeout(120_000).setApiKey(keyOf("hello"));
    String workflowId = site.getAsJsonObject("examples").getAsJsonObject("hello").get("workflowId").getAsString();
    service.model.Success result = new service.api.WorkflowsApi(client).executeWorkflow(workflowId, Map.of("name", "Ada"), null, null, null, null);
    service.api.ExecutionsApi api = new service.api.ExecutionsApi(client);
    return read(result.getExecutionId(), result.getOutputs().get("greeting"), (id, name) -> api.readFile(id, name, null, null, null, null, null, null));
  }

  private static Map<String, String> kinds() throws Exception {
    kinds.client.ApiClient client = new kinds.client.ApiClient();
    client.setBasePath(url()).setSslCaCert(authority()).setReadTimeout(120_000).setApiKey(keyOf("kinds"));
    LinkedHashSet<kinds.model.OptionColors> colors = new LinkedHashSet<>(List.of(kinds.model.OptionColors.RED, kinds.model.OptionColors.DARK_BLUE));
    kinds.model.WorkflowInputs inputs = new kinds.model.WorkflowInputs().name("Ada").colors(colors);
    kinds.model.Success result = new kinds.api.WorkflowsApi(client).executeWorkflow(inputs, null, null, null, null);
    kinds.api.ExecutionsApi api = new kinds.api.ExecutionsApi(client);
    return read(result.getExecutionId(), result.getOutputs().getEcho(), (id, name) -> api.readFile(id, name, null, null, null, null, null, null));
  }

  private static hello.client.ApiClient connectHello(String key) throws Exception {
    hello.client.ApiClient client = new hello.client.ApiClient();
    client.setBasePath(url()).setSslCaCert(authority()).setReadTimeout(120_000).setApiKey(key);
    return client;
  }

  private static String url() {
    return site.get("url").getAsString();
  }

  private static String keyOf(String example) {
    return site.getAsJsonObject("examples").getAsJsonObject(example).get("apiKey").getAsString();
  }

  private static FileInputStream authority() throws Exception {
    return new FileInputStream(site.get("caFile").getAsString());
  }

  private static Map<String, String> read(String executionId, URI output, Download download) throws Exception {
    String[] path = output.getRawPath().split("/");
    String fileName = URLDecoder.decode(path[path.length - 1], StandardCharsets.UTF_8);
    byte[] digest = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(download.read(executionId, fileName).toPath()));
    StringBuilder sha256 = new StringBuilder();
    for (byte each : digest) sha256.append(String.format("%02x", each));
    return Map.of("executionId", executionId, "fileName", fileName, "sha256", sha256.toString());
  }
}
