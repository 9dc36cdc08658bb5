/** Compiled, never run: what users of the package may rely on in the types. `tsc` is the test. */
import type {
  AppOptions,
  Caller,
  createApp,
  Decision,
  DecisionReason,
  decide,
  MiddlewareOptions,
  parseRequestInfo,
  RequestInfo,
  RequestInfoErrorCode,
  RoutingTable,
  Snapshot,
  Transport,
  TransportErrorCode,
} from '../../src/index.ts';

type Equal<Left, Right> =
  (<T>() => T extends Left ? 1 : 2) extends <T>() => T extends Right ? 1 : 2 ? true : false;
const holds = <T extends true>(): T => true as T;

// Request info: strings throughout, empty where absent; nothing of it can be changed.
holds<Equal<RequestInfo['namespace'], string>>();
holds<Equal<RequestInfo['parts'], readonly string[]>>();
holds<Equal<ReturnType<typeof parseRequestInfo>, RequestInfo>>();
holds<Equal<RequestInfoErrorCode, 'AmbiguousRequestTarget' | 'UnableToDetermineResource'>>();

// A decision names its kind.
holds<Equal<Decision['decision'], 'local' | 'peer' | 'unavailable'>>();
holds<Equal<Decision['reason'] extends DecisionReason ? true : false, true>>();
holds<Equal<Parameters<typeof decide>[1], RoutingTable | undefined>>();

// Errors can be switched over exhaustively.
export function describe(code: TransportErrorCode): string {
  switch (code) {
    case 'ConnectFailed':
    case 'TLSFailed':
    case 'ConnectionClosed':
    case 'Timeout':
    case 'ClientGone':
    case 'InvalidResponse':
    case 'RequestHeaderFieldsTooLarge':
    case 'DecisionOutdated':
      return code;
  }
}

// A caller is either established or nobody's claim.
holds<Equal<Caller['kind'], 'authenticated' | 'passthrough'>>();

// The app needs everything the filter needs, and a receiver instead of the table source.
holds<Equal<AppOptions extends MiddlewareOptions ? true : false, true>>();
holds<Equal<Parameters<typeof createApp>[0], AppOptions>>();
holds<Equal<Parameters<Transport['send']>['length'], 3>>();
holds<Equal<Snapshot['apiVersion'], 'mixed-version-proxy/v1alpha1'>>();
