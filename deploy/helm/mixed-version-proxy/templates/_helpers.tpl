{{- define "mvp.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag }}{{ end }}
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
frontProxy:
  certFile: /etc/router/front-proxy/tls.crt
  keyFile: /etc/router/front-proxy/tls.key
authentication:
  clientCAFile: /etc/router/trust/ca.crt
  requestHeader:
    clientCAFile: /etc/router/trust/front-proxy-ca.crt
    allowedNames: [front-proxy-client]
{{- if .Values.sync.enabled }}
ownPaths:
  allowedUsers: [mixed-version-proxy-sync]
{{- else }}
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
