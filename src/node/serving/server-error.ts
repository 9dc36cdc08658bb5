import { CodedError, errorCode, errorMessage } from '../../runtime/errors.ts';
import { joinHostPort } from '../../snapshot/addresses/addresses.ts';

export type ServerErrorCode =
  /** Another process listens on it. */
  | 'AddressInUse'
  /** No interface of this host has the address. */
  | 'AddressNotAvailable'
  /** A port below 1024, without permission. */
  | 'PermissionDenied'
  | 'ListenFailed'
  /** The serving certificate or its key cannot be read, or they do not belong together. */
  | 'InvalidServingCertificate';

export class ServerError extends CodedError<ServerErrorCode> {
  override readonly name = 'ServerError';
  constructor(code: ServerErrorCode, message: string, cause: unknown) {
    super(code, message, { cause });
  }
}

export function listenError(error: Error, host: string, port: number, flag: `--${string}`): ServerError {
  const code = errorCode(error);
  const where = joinHostPort(host, port);
  if (code === 'EADDRINUSE') {
    return new ServerError(
      'AddressInUse',
      `${where} is in use: stop what listens there, or take another port`,
      error,
    );
  }
  if (code === 'EADDRNOTAVAIL') {
    const message = `this host has no address ${host}: set ${flag} to one that it has`;
    return new ServerError('AddressNotAvailable', message, error);
  }
  if (code === 'EACCES') {
    const message = `no permission to listen on ${where}: take a port from 1024 on, or grant CAP_NET_BIND_SERVICE`;
    return new ServerError('PermissionDenied', message, error);
  }
  return new ServerError('ListenFailed', `cannot listen on ${where}: ${error.message}`, error);
}

export function certificateError(error: unknown): ServerError {
  const detail = errorMessage(error);
  const message = `the serving certificate and its key cannot be used (--tls-cert-file, --tls-private-key-file): ${detail}`;
  return new ServerError('InvalidServingCertificate', message, error);
}
