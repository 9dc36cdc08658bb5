/**
 * What stands between clients and API servers, behind the same TCP load balancer:
 *
 * - `bare`: nothing
 * - `upstream`: the model of kube-apiserver's own peer proxy, in every server
 * - `sidecar`: a router of this project beside each server
 * - `gateway`: two routers of this project in front of all servers
 */
export const setUpNames = ['bare', 'upstream', 'sidecar', 'gateway'] as const;

export type SetUpName = (typeof setUpNames)[number];

export const setUpTitles: Readonly<Record<SetUpName, string>> = {
  bare: 'load balancer alone',
  upstream: "model of upstream's peer proxy",
  sidecar: 'Mixed Version Proxy, sidecars',
  gateway: 'Mixed Version Proxy, gateways',
};

/** Whether routers of this project take part. */
export function hasRouters(setUp: SetUpName): boolean {
  return setUp === 'sidecar' || setUp === 'gateway';
}
