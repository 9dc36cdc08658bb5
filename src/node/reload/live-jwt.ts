import type { Authenticator } from '../../identity/authenticator.ts';
import type { Logger } from '../../runtime/logger.ts';
import {
  createJwtAuthenticator,
  type RunningJwtAuthenticator,
} from '../callers/configured-jwt-authenticator.ts';
import type { JwtConfig } from '../configuration/serve-config.ts';

/** The issuers of the moment: those of the configuration until it, or the file that it names, changes. */
export class LiveJwt implements Authenticator {
  readonly name = 'jwt';
  readonly #logger: Logger;
  #config: JwtConfig;
  #running: RunningJwtAuthenticator | undefined;

  /** @throws when a certificate authority of an issuer cannot be used. */
  constructor(config: JwtConfig, logger: Logger) {
    this.#logger = logger;
    this.#config = config;
    this.#running = createJwtAuthenticator(config, logger);
  }

  get config(): JwtConfig {
    return this.#config;
  }

  authenticate: Authenticator['authenticate'] = (inbound) =>
    this.#running?.authenticator.authenticate(inbound);

  /** Not waited for at start: an issuer that is down must not keep the router from starting. Never throws. */
  prepare(): void {
    void this.#running?.authenticator.prepare();
  }

  /**
   * Goes by other issuers from the next request on; with the same ones, their keys stay loaded.
   * @throws when a certificate authority of an issuer cannot be used; nothing has changed then.
   */
  replace(config: JwtConfig): void {
    if (isSame(config, this.#config)) return;
    const last = this.#running;
    this.#running = createJwtAuthenticator(config, this.#logger);
    this.#config = config;
    this.prepare();
    // What it is loading ends by itself; it is not used any more.
    void last?.close();
  }

  async close(): Promise<void> {
    await this.#running?.close();
  }
}

function isSame(one: JwtConfig, other: JwtConfig): boolean {
  return (
    one.configurationFile?.text === other.configurationFile?.text &&
    JSON.stringify(one.serviceAccounts) === JSON.stringify(other.serviceAccounts)
  );
}
