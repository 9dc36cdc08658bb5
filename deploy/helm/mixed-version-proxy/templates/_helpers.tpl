{{- /* What names of a release begin with: its own name, as Services and labels can have it. A Service's begins with a letter and
has no dot (RFC 1035); the longest label is StatefulSet's <name>-gateway-<hash of ten>, which ends at 63 characters. */}}
{{- define "mvp.name" -}}
{{- $name := .Release.Name | replace "." "-" }}
{{- if not (regexMatch "^[a-z]" $name) }}{{ $name = printf "r%s" $name }}{{ end }}
{{- if and (eq $name .Release.Name) (le (len $name) 44) }}{{ $name }}
{{- else }}{{ printf "%s-%s" ($name | trunc 35 | trimSuffix "-") (.Release.Name | sha256sum | trunc 8) }}{{ end }}
{{- end }}
{{- /* Of objects outside of its namespace, where other releases have theirs: two may have one name in two namespaces. */}}
{{- define "mvp.clusterName" -}}
{{ include "mvp.name" . }}:{{ .Release.Namespace }}
{{- end }}
{{- /* Helm's recommended labels of an object: `list . <name>`. Selectors go by app.kubernetes.io/name alone, which names the
release and the part of it. A selector cannot be changed, so that name stays as it is. */}}
{{- define "mvp.labels" -}}
{{- $chart := (index . 0).Chart -}}
helm.sh/chart: {{ printf "%s-%s" $chart.Name $chart.Version | replace "+" "_" }}
{{ include "mvp.podLabels" . }}
{{- end }}
{{- /* The same of pods, without the chart: a new chart of the same program is no reason to replace them. */}}
{{- define "mvp.podLabels" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ index . 1 }}
app.kubernetes.io/instance: {{ $root.Release.Name | quote }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | replace "+" "_" | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
app.kubernetes.io/part-of: mixed-version-proxy
{{- end }}
{{- define "mvp.image" -}}
{{ required "image.repository is required: name the registry that you have pushed the image to (docs/start/install.md)" .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag }}{{ end }}
{{- end }}
{{- /* The service account of whoever reads the cluster. */}}
{{- define "mvp.reader" -}}
{{ include "mvp.name" . }}-{{ ternary "sync" "gateway" .Values.sync.enabled }}
{{- end }}
{{- define "mvp.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
# So that the user above may read the mounted keys.
fsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}
{{- define "mvp.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}
{{- define "mvp.scheduling" -}}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- define "mvp.pullSecrets" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- define "mvp.configuration" -}}
apiVersion: mixed-version-proxy/v1alpha1
kind: RouterConfiguration
gateway: true
serving:
  port: 6443
  certFile: /etc/router/serving/tls.crt
  keyFile: /etc/router/serving/tls.key
peers:
  caFile: /etc/router/trust/ca.crt
{{- if .Values.gateway.frontProxySecret }}
frontProxy:
  certFile: /etc/router/front-proxy/tls.crt
  keyFile: /etc/router/front-proxy/tls.key
{{- end }}
{{- $callers := include "mvp.callers" . }}
{{- if ne $callers "nobody" }}
authentication:
  clientCAFile: /etc/router/callers/client-ca.crt
  {{- if .Values.gateway.frontProxySecret }}
  requestHeader:
    clientCAFile: /etc/router/callers/front-proxy-ca.crt
    allowedNames: [front-proxy-client]
  {{- end }}
{{- end }}
{{- if not .Values.sync.enabled }}
apiServers:
  inCluster: true
{{- end }}
snapshot:
  {{- if .Values.sync.enabled }}
  keysFile: /etc/router/trust/snapshot-keys.json
  {{- end }}
  file: /var/lib/mixed-version-proxy/snapshot
shutdown:
  delay: 15s
logging:
  format: json
{{- end }}
{{- /* Where the authorities of callers are: what was given; the ConfigMap in which API servers publish theirs, which only
pods of kube-system can mount; or nowhere, and nobody is known by a certificate. */}}
{{- define "mvp.callers" -}}
{{- if .Values.gateway.trustConfigMap }}given{{ else if eq .Release.Namespace "kube-system" }}published{{ else }}nobody{{ end }}
{{- end }}
{{- define "mvp.servingSecret" -}}
{{ .Values.gateway.servingSecret | default (printf "%s-gateway-serving" (include "mvp.name" .)) }}
{{- end }}
{{- define "mvp.trustConfigMap" -}}
{{ .Values.gateway.trustConfigMap | default "kube-root-ca.crt" }}
{{- end }}
