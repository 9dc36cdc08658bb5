import type { ExampleUser, UserOfToken } from './authentication.ts';
import type { KubernetesVersion } from './kubernetes-versions.ts';
import type { ResourceTarget } from './request-target.ts';
import type { ServedResource, ServedResources, SpecFields } from './served-resources.ts';
import type { ExampleStore } from './store.ts';

/** One server, as its handlers see it. */
export interface ServerContext {
  /** For people, in log and exec output. */
  readonly name: string;
  readonly version: KubernetesVersion;
  readonly served: ServedResources;
  readonly store: ExampleStore;
  /** `host:port`. */
  readonly address: string;
  readonly userOfToken: UserOfToken;
  readonly bookmarkIntervalMilliseconds: number;
  readonly addedFields: SpecFields;
  /** Aborts when the server stops: streams end then. */
  readonly stopping: AbortSignal;
}

/** A request for a resource that this server serves, by an allowed caller, its body read. */
export interface ResourceRequest {
  readonly server: ServerContext;
  readonly target: ResourceTarget;
  readonly served: ServedResource;
  readonly query: URLSearchParams;
  readonly user: ExampleUser;
  readonly accept: string | undefined;
  readonly contentType: string | undefined;
  readonly body: Uint8Array;
}
