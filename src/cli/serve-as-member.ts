import { createPinoLogger } from '../node/pino-logger.ts';
import { processLogger } from '../node/processes/process-logger.ts';
import type { ProcessMember } from '../node/processes/process-member.ts';
import { shareOfLimits } from '../node/processes/share-of-limits.ts';
import { sharedConfigurationSource } from '../node/processes/shared-configuration-source.ts';
import { type CommandContext, CommandFailure, type ExitCode, messageOf } from './command-context.ts';
import type { ServingRouter, StartRouter } from './serve.ts';
import { readServeInput, type ServeArguments } from './serve-input.ts';

/**
 * `serve` in a process that a supervisor has started with its own command line: serves until the supervisor, or a
 * signal, has it end. Why it cannot start is told to the supervisor, which says it once for all of them.
 */
export async function serveAsMember(
  given: ServeArguments,
  context: CommandContext,
  loadStartRouter: () => Promise<StartRouter>,
): Promise<ExitCode> {
  // Installed before anything else: a terminal sends its signals to this process, too.
  const signal = context.shutdownSignal();
  let router: ServingRouter | undefined;
  context.onReloadSignal(() => void router?.reload());
  const { ProcessMember } = await import('../node/processes/process-member.ts');
  const member = await ProcessMember.join((fault) => {
    context.writeError(`warning: the supervisor has sent what cannot be understood: ${fault}\n`);
  });
  try {
    router = await start(member, given, context, await loadStartRouter());
    await member.ready(router);
  } catch (error) {
    const reason = error instanceof CommandFailure ? error.lines.join('; ') : messageOf(error);
    await router?.shutdown();
    await member.failed(reason).catch(() => {});
    await member.leave();
    return 1;
  }
  await Promise.race([signal, member.shutdownAsked]);
  await router.shutdown();
  await member.leave();
  return 0;
}

async function start(
  member: ProcessMember,
  given: ServeArguments,
  context: CommandContext,
  startRouter: StartRouter,
): Promise<ServingRouter> {
  const { number, of, port, configuration } = member.start;
  const { config, configurationSource } = await readServeInput(given, {
    ...context,
    // As the supervisor has read it, whatever it is by now: a change is taken up like any other, by all processes.
    readFile: (path) => (path === configuration?.path ? configuration.text : context.readFile(path)),
    // The supervisor has said it.
    writeError: () => {},
  });
  const lines = createPinoLogger(config.logging, { write: context.writeError });
  const logger = processLogger(lines, number, process.pid);
  member.onSupervisorLost(() => logger.error({}, 'The supervisor is gone: this process ends'));
  return startRouter({ ...shareOfLimits(config, { number, of }), securePort: port }, logger, {
    configurationSource: sharedConfigurationSource(configurationSource, { number, of }),
    onApplied: ({ logging }) => lines.configure(logging),
    sharing: member.sharing,
  });
}
