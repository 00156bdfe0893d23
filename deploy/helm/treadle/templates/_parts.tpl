{{/* The name that all objects of a release begin with. Names of pods add to it, and labels end at 63 characters. */}}
{{- define "treadle.name" -}}
{{- $name := ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) (contains .Chart.Name .Release.Name) -}}
{{- $name | trunc 32 | trimSuffix "-" -}}
{{- end -}}

{{/* What a pod of a component is found by: (dict "root" $ "component" "api"). */}}
{{- define "treadle.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{- define "treadle.labels" -}}
{{ include "treadle.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{- define "treadle.image" -}}
{{ required "image.repository: name the image that you built from the Dockerfile" .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{/* A class of workers with what it does not say itself, as YAML: (dict "root" $ "class" $class). */}}
{{- define "treadle.class" -}}
{{- mergeOverwrite (deepCopy .root.Values.workerDefaults) (.class | default dict) | toYaml -}}
{{- end -}}

{{/* How long a pod may take to stop: what its settings give programs and callers, and ten seconds. */}}
{{- define "treadle.grace" -}}
{{- $settings := merge dict .settings .root.Values.settings -}}
{{- add (get $settings "TREADLE_STOP_DELAY_SECONDS" | default "0" | int) (get $settings "TREADLE_DRAIN_SECONDS" | default "3" | int) 10 -}}
{{- end -}}

{{/* Settings that name files of Secrets. */}}
{{- define "treadle.secretFiles" -}}
{{- range $secret := .Values.secrets }}
{{- range $setting, $key := $secret.files }}
- name: {{ $setting }}
  value: /secrets/{{ $secret.name }}/{{ $key }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "treadle.secretMounts" -}}
{{- range .Values.secrets }}
- name: secret-{{ .name }}
  mountPath: /secrets/{{ .name }}
  readOnly: true
{{- end }}
{{- end -}}

{{- define "treadle.secretVolumes" -}}
{{- range .Values.secrets }}
- name: secret-{{ .name }}
  secret:
    secretName: {{ .name }}
    # Root's, and readable for the group of the pod: the service refuses keys that others may read.
    defaultMode: 0440
{{- end }}
{{- end -}}

{{/* A pod that has what sandboxes need: (dict "root" $ "component" … "role" … "settings" … "with" <resources and places>). */}}
{{- define "treadle.pod" -}}
metadata:
  labels:
    {{- include "treadle.labels" . | nindent 4 }}
  {{- with .root.Values.pod.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with .root.Values.serviceAccountName }}
  serviceAccountName: {{ . }}
  {{- end }}
  # It never asks the cluster anything, and no program should find the means to.
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  terminationGracePeriodSeconds: {{ include "treadle.grace" . }}
  # Users of the pod are others on the node, root above all. Kubernetes shows a pod the whole of /proc only then.
  hostUsers: false
  # bubblewrap leaves orphans for a first process that collects them, and Node.js is none.
  shareProcessNamespace: true
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    # Not at each start: it would open to the group what the service closed, and walk through all files.
    fsGroupChangePolicy: OnRootMismatch
    # The default filter forbids making namespaces and mounting in them, which is what a sandbox is made of. This one allows
    # both, and less than the default one elsewhere.
    seccompProfile:
      {{- toYaml .root.Values.pod.seccompProfile | nindent 6 }}
    # The default profile forbids every mount.
    appArmorProfile:
      {{- toYaml .root.Values.pod.appArmorProfile | nindent 6 }}
  containers:
    - name: {{ .role }}
      image: {{ include "treadle.image" .root }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      securityContext:
        # No capability, and no way to get one: sandboxes are made by an ordinary user.
        allowPrivilegeEscalation: false
        privileged: false
        capabilities:
          drop: [ALL]
        # A sandbox has a /proc of its own. The kernel allows that only where no part of the container's is masked.
        procMount: Unmasked
      env:
        - name: TREADLE_ROLE
          value: {{ .role }}
        # Below the volume: its first folder is root's, and the service wants one of its own.
        - name: TREADLE_DATA_DIR
          value: /data/treadle
        - name: TREADLE_METRICS_PORT
          value: {{ .root.Values.metrics.port | quote }}
        {{- if eq .role "api" }}
        - name: TREADLE_PORT
          value: "8443"
        - name: TREADLE_TRUST_PROXY
          value: {{ .root.Values.ingress.enabled | quote }}
        {{- end }}
        {{- range $name, $value := merge dict .settings .root.Values.settings }}
        - name: {{ $name }}
          value: {{ required (printf "settings.%s: may not be empty; see docs/operating.md" $name) $value | quote }}
        {{- end }}
        {{- include "treadle.secretFiles" .root | nindent 8 }}
      ports:
        - name: metrics
          containerPort: {{ .root.Values.metrics.port }}
        {{- if eq .role "api" }}
        - name: callers
          containerPort: 8443
        {{- end }}
      # Five minutes until all that executions need is usable. A rollout stops at a pod that is not.
      startupProbe:
        httpGet: { path: /readyz, port: metrics }
        periodSeconds: 2
        timeoutSeconds: 3
        failureThreshold: 150
      readinessProbe:
        {{- if eq .role "api" }}
        # Not /readyz: all pods share what that asks about, and callers would find none in the place of a good 503.
        httpGet:
          path: /healthz
          port: callers
          scheme: {{ ternary "HTTP" "HTTPS" .root.Values.ingress.enabled }}
          {{- if .root.Values.ingress.enabled }}
          httpHeaders: [{ name: X-Forwarded-Proto, value: https }]
          {{- end }}
        {{- else }}
        # Nobody calls a worker. A rollout goes on to the next one when this one is ready.
        httpGet: { path: /readyz, port: metrics }
        {{- end }}
        periodSeconds: 5
        timeoutSeconds: 3
      livenessProbe:
        httpGet: { path: /healthz, port: metrics }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      resources:
        {{- toYaml .with.resources | nindent 8 }}
      volumeMounts:
        - { name: data, mountPath: /data }
        - { name: tmp, mountPath: /tmp }
        {{- include "treadle.secretMounts" .root | nindent 8 }}
  volumes:
    {{- if eq .role "api" }}
    - name: data
      emptyDir: { sizeLimit: {{ .with.temporarySize }} }
    {{- end }}
    - name: tmp
      emptyDir: { sizeLimit: 1Gi }
    {{- include "treadle.secretVolumes" .root | nindent 4 }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "treadle.selector" . | nindent 10 }}
  {{- with .with.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .with.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .with.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/* One pod of a component may be away at a time, by the cluster's own doing. */}}
{{- define "treadle.disruptions" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "treadle.name" .root }}-{{ .component }}
  labels:
    {{- include "treadle.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      {{- include "treadle.selector" . | nindent 6 }}
{{- end -}}
