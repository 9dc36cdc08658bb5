import { internalError, statusResponse } from '../../apimachinery/status.ts';
import { createConsoleLogger, type LogLevel, logLevels } from '../../runtime/console-logger.ts';
import { WorkerConfigurationError } from '../configuration/configuration.ts';
import type { DurableObjectState, ExecutionContext } from '../platform/bindings.ts';
import type { StoredText } from '../snapshot/stored-text.ts';
import type { WorkerApp } from './worker-app.ts';

/**
 * One object for the whole Worker, which keeps the snapshot. It loads no router, and an isolate that routes loads nothing of
 * what the object does.
 */
export class SnapshotObject {
  readonly #state: DurableObjectState;
  #stored: StoredText | undefined;

  constructor(state: DurableObjectState, _environment: object) {
    this.#state = state;
  }

  async fetch(request: Request): Promise<Response> {
    const { StoredText } = await import('../snapshot/stored-text.ts');
    this.#stored ??= new StoredText(this.#state);
    return this.#stored.respond(request);
  }
}

/** Only what is finished is kept: a promise belongs to the request that made it. At worst two do the same work. */
interface Isolate {
  app?: WorkerApp;
  /** The environment cannot change without a new isolate: once wrong, always wrong. Everything else is tried again. */
  issue?: WorkerConfigurationError;
}

const isolates = new WeakMap<object, Isolate>();

/** The router on a Workers-compatible runtime (docs/guides/edge.md). */
export default {
  async fetch(request: Request, environment: object, context: ExecutionContext): Promise<Response> {
    const isolate = isolateOf(environment);
    const app = isolate.app ?? (await createIsolateApp(environment, isolate));
    return app instanceof Response ? app : app.fetch(request, context);
  },
};

function isolateOf(environment: object): Isolate {
  const known = isolates.get(environment);
  if (known !== undefined) return known;
  const isolate: Isolate = {};
  isolates.set(environment, isolate);
  return isolate;
}

async function createIsolateApp(environment: object, isolate: Isolate): Promise<WorkerApp | Response> {
  if (isolate.issue === undefined) {
    const logger = loggerOf(environment);
    try {
      const { startWorkerApp } = await import('./worker-app.ts');
      const started = await startWorkerApp(environment, logger);
      // Another request may have been quicker meanwhile; its requests in flight are counted there.
      isolate.app ??= started;
      return isolate.app;
    } catch (error) {
      if (!(error instanceof WorkerConfigurationError)) return internalError(error, logger);
      isolate.issue = error;
      logger.error({ err: error }, 'The Worker cannot start');
    }
  }
  return statusResponse(
    'InternalError',
    'the router cannot start: its variables or bindings have errors, which its log names one by one',
  );
}

function loggerOf(environment: object) {
  const given = 'LOG_LEVEL' in environment ? environment.LOG_LEVEL : undefined;
  const level: LogLevel = logLevels.find((each) => each === given) ?? 'info';
  return createConsoleLogger(level);
}
