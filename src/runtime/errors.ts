/** An error that callers decide by: the codes of a class are stable, its messages are for people. */
export abstract class CodedError<Code extends string> extends Error {
  readonly code: Code;
  constructor(code: Code, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * The hint that Node adds to an untrusted certificate. The hint helps nobody here: a user who names no CA file is a
 * stranger to the server, and the system's authorities have not signed the certificate of an API server.
 */
const hintOfNode = /; if the root CA .*-system-ca\b/;

export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message.replace(hintOfNode, '') : String(error);
}

/** Without Node's `ENOENT: ` and `, open '…'`: beside the path that is told already, `no such file or directory`. */
export function fileErrorMessage(error: unknown): string {
  const message = errorMessage(error).replace(/^E[A-Z0-9]+: /, '');
  if (!(error instanceof Error && 'syscall' in error)) return message;
  const start = message.lastIndexOf(`, ${error.syscall}`);
  return start === -1 ? message : message.slice(0, start);
}

/** The `code` of an error of Node or OpenSSL; empty without one. */
export function errorCode(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
}
