import { routerSettings, serveCall } from '../../node/configuration/router-settings.ts';
import type { RunningRouter, ServeConfig } from '../../node/configuration/serve-config.ts';
import type { StartOptions } from '../../node/process/start-router.ts';
import { errorMessage } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Command } from '../terminal/command.ts';
import { type CommandContext, CommandFailure, type ExitCode } from '../terminal/command-context.ts';
import { packageVersion } from '../terminal/package-version.ts';
import type { ServeArguments } from './serve-input.ts';

export type StartRouter = (
  config: ServeConfig,
  logger: Logger,
  options: StartOptions,
) => Promise<ServingRouter>;

type ServingRouter = Omit<RunningRouter, 'close'>;

/** @param loadStartRouter asked only when a router is started, not for help or a dry run. Tests bring their own. */
export function serveCommand(loadStartRouter: () => Promise<StartRouter> = loadRouter): Command {
  return {
    description:
      'Run the router in front of a kube-apiserver. Requests for resources that it does not serve go to a peer that does.',
    examples: [
      {
        comment: 'On a control-plane node of kubeadm: everything else is found there.',
        line: [
          'serve --kubeconfig=reader.kubeconfig',
          '--snapshot-file=/var/lib/mixed-version-proxy/snapshot',
        ],
      },
      {
        comment: 'Beside the kube-apiserver of one control-plane node.',
        line: [
          'serve --server-id=apiserver-2hb4bhxhxpo2wt5sc7ilxj7wxa',
          '--local-server=https://127.0.0.1:6444',
          '--tls-cert-file=apiserver.crt --tls-private-key-file=apiserver.key',
          '--client-ca-file=ca.crt --peer-ca-file=ca.crt',
          '--proxy-client-cert-file=front-proxy-client.crt',
          '--proxy-client-key-file=front-proxy-client.key',
          '--requestheader-client-ca-file=front-proxy-ca.crt',
          '--requestheader-allowed-names=front-proxy-client',
          '--kubeconfig=reader.kubeconfig',
          '--snapshot-file=/var/lib/mixed-version-proxy/snapshot',
        ],
      },
      {
        comment: 'In front of all kube-apiservers.',
        line: [
          'serve --gateway --kubeconfig=reader.kubeconfig',
          '--client-ca-file=ca.crt --peer-ca-file=ca.crt',
          '--tls-cert-file=gateway.crt --tls-private-key-file=gateway.key',
          '--proxy-client-cert-file=front-proxy-client.crt',
          '--proxy-client-key-file=front-proxy-client.key',
          '--snapshot-file=/var/lib/mixed-version-proxy/snapshot',
        ],
      },
    ],
    flags: [serveCall, routerSettings],
    run: (given, context) => runServe(given, context, loadStartRouter),
  };
}

async function loadRouter(): Promise<StartRouter> {
  const { giveBackFreedMemory, setGarbageCollectorForServing } = await import(
    '../../node/process/garbage-collection.ts'
  );
  setGarbageCollectorForServing();
  giveBackFreedMemory();
  const { startRouter } = await import('../../node/process/start-router.ts');
  return async (config, logger, options) => {
    const { embeddedSync } = config;
    if (embeddedSync === undefined) return startRouter(config, logger, options);
    const { openEmbeddedSync } = await import('../../sync/node/embedded-sync.ts');
    return startRouter(config, logger, { ...options, openEmbeddedSync });
  };
}

async function runServe(
  given: ServeArguments,
  context: CommandContext,
  loadStartRouter: () => Promise<StartRouter>,
): Promise<ExitCode> {
  // Heard before the start, so that no signal during it is lost or ends the process.
  const started = Promise.withResolvers<ServingRouter>();
  context.onReloadSignal(() => {
    started.promise.then(
      (router) => router.reload(),
      // The start has failed, and says so below.
      () => {},
    );
  });
  const { dryRunReport, readServeInput } = await import('./serve-input.ts');
  const { createLineLogger } = await import('../../node/logging/line-logger.ts');
  const input = await readServeInput(given, context);
  const { config, configurationSource } = input;
  if (input.isDryRun) {
    await context.writeOutput(dryRunReport(input));
    return 0;
  }
  const logVerbosity = { level: config.settings.logging.verbosity };
  const logger = createLineLogger(config.settings.logging, context.writeError, logVerbosity);
  for (const { flag, value, source } of config.found) logger.info({ flag, value, source }, 'Found');
  const startRouter = await loadStartRouter();
  const signal = context.shutdownSignal();
  started.resolve(startRouter(config, logger, { configurationSource, logVerbosity }));
  const router = await started.promise.catch((cause: unknown) => {
    throw new CommandFailure(1, [`the router cannot start: ${errorMessage(cause)}`], { cause });
  });
  logger.info(
    {
      version: packageVersion(),
      origin: router.origin,
      ...(router.adminOrigin === undefined ? {} : { adminOrigin: router.adminOrigin }),
      form: config.local === undefined ? 'gateway' : 'sidecar',
      serverId: config.serverId,
      ...(config.advertisedAddress?.port === 0 ? {} : { advertisedAddress: config.advertisedAddress }),
      featureGateEnabled: config.featureGateEnabled,
    },
    'Serving',
  );
  logger.info({ signal: await signal }, 'Shutting down');
  await router.shutdown();
  logger.info({}, 'Ended');
  return 0;
}
