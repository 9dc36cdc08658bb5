import type { FlagGroup } from './serve-flags.ts';

/** Where the router listens, what clients see of it, and how its files are kept up to date. */
export const servingFlagGroup = {
  heading: 'Serving flags:',
  flags: [
    {
      name: 'bind-address',
      kind: 'value',
      placeholder: 'IP',
      default: '0.0.0.0',
      description: 'Address to listen on. An unspecified address (0.0.0.0 or ::) is all interfaces.',
    },
    {
      name: 'secure-port',
      kind: 'value',
      placeholder: 'port',
      default: '6443',
      description: 'Port to serve HTTPS on. 0 takes any free port.',
    },
    {
      name: 'reuse-port',
      kind: 'boolean',
      placeholder: 'true|false',
      default: 'false',
      description:
        'Let other routers listen on the same port, if they say the same and run as the same user (SO_REUSEPORT): the system spreads new connections over them. Each is a router by itself.',
    },
    {
      name: 'disable-http2-serving',
      kind: 'boolean',
      placeholder: 'true|false',
      default: 'false',
      description:
        'Offer clients HTTP/1.1 only, as the same flag of kube-apiserver does: the way back should reading their HTTP/2 be at fault.',
    },
    {
      name: 'tls-cert-file',
      kind: 'value',
      placeholder: 'file',
      description: 'Serving certificate, followed by its intermediates. Required.',
    },
    {
      name: 'tls-private-key-file',
      kind: 'value',
      placeholder: 'file',
      description: 'Private key for --tls-cert-file. Required.',
    },
    {
      name: 'file-check-interval',
      kind: 'value',
      placeholder: 'duration',
      default: '10s',
      description:
        'How often the configuration file, certificates, CA bundles and key files are looked at for changes. SIGHUP has them looked at at once.',
    },
    {
      name: 'advertise-address',
      kind: 'value',
      placeholder: 'IP',
      description:
        "Address at which others reach this router. Given, it reaches the snapshot with --secure-port, and peers call the router there in place of its API server. Defaults to --bind-address, and if that is unspecified to the host's default interface: peers call those only where the cluster names no address of the server.",
    },
    {
      name: 'peer-advertise-ip',
      kind: 'value',
      placeholder: 'IP',
      description: 'Address that peers should call instead; goes with --peer-advertise-port.',
    },
    {
      name: 'peer-advertise-port',
      kind: 'value',
      placeholder: 'port',
      description: 'Port that peers should call instead; goes with --peer-advertise-ip.',
    },
  ],
} as const satisfies FlagGroup;
