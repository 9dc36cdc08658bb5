import type { FlagGroup } from './serve-flags.ts';

/** The router's own endpoints at an address of their own. */
export const adminFlagGroup = {
  heading: 'Admin address flags:',
  flags: [
    {
      name: 'admin-bind-address',
      kind: 'value',
      placeholder: 'IP:port',
      description:
        'Also answer /livez, /readyz, /healthz, /metrics, /statusz and /flagz here, without asking who calls, and nothing else: plain HTTP on a loopback address, HTTPS with the serving certificate on any other. Default: nowhere.',
    },
  ],
} as const satisfies FlagGroup;
