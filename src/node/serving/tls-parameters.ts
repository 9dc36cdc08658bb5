import type { TlsParameters } from '../configuration/serve-config.ts';

/** TLS 1.2 or later, as in kube-apiserver. */
export const defaultTlsParameters: TlsParameters = { minVersion: 'TLSv1.2', ciphers: undefined };
