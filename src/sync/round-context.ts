import { createServiceAddressReader, type ServiceAddressReader } from './cluster/service-addresses.ts';
import { createServerReaders, type ServerReaders } from './servers/server-readers.ts';
import { createSchemaReader, type SchemaReader } from './servers/server-schemas.ts';
import { createSharedObjectsReader, type SharedObjectsReader } from './servers/shared-objects-reader.ts';
import { type ResolvedSyncOptions, resolveSyncOptions, type SyncOptions } from './sync-options.ts';

/** What rounds carry on from one to the next. */
export interface RoundContext {
  readonly options: ResolvedSyncOptions;
  readonly readers: ServerReaders;
  readonly sharedObjects: SharedObjectsReader;
  readonly serviceAddresses: ServiceAddressReader;
  /** `undefined` when schemas are not to be compared. */
  readonly schemas: SchemaReader | undefined;
}

/** @throws {TypeError} when the options contradict themselves. */
export function createRoundContext(given: SyncOptions): RoundContext {
  const options = resolveSyncOptions(given);
  const { clock, timing, servers } = options;
  return {
    options,
    readers: createServerReaders(servers, {
      clock,
      readTimeoutMilliseconds: timing.readTimeout,
      concurrentServers: timing.concurrentServers,
      concurrentDocuments: timing.concurrentDocuments,
      backOff: timing.readBackOff,
      observer: options.observer,
      previous: options.previous,
      maximumHashDocuments: timing.maximumHashDocuments,
    }),
    sharedObjects: createSharedObjectsReader(clock, timing.sharedObjectsRefresh),
    serviceAddresses: createServiceAddressReader(clock, timing.sharedObjectsRefresh),
    schemas:
      options.comparesSchemas === false
        ? undefined
        : createSchemaReader({
            clock,
            always: options.comparesSchemas === 'always',
            maximumDocuments: timing.maximumSchemaDocuments,
            previous: options.previous,
          }),
  };
}
