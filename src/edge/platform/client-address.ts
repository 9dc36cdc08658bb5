import { firstHeader, type RawHeaders } from '../../apimachinery/raw-headers.ts';
import { isJsonObject } from '../../runtime/validation.ts';

const ipAddress = /^[0-9a-f.:]{2,45}$/i;
/** `127.0.0.1:4711`, `[::1]:4711`. */
const addressWithPort = /^\[?([0-9a-f.:]+?)\]?:\d+$/i;

/**
 * The client's address, where the platform vouches for it. Anybody could send the header elsewhere.
 *
 * - Self-hosted workerd: `request.cf.clientIp`, of the connection.
 * - Cloudflare: `CF-Connecting-IP`, which it sets itself
 *   (developers.cloudflare.com/fundamentals/reference/http-headers). There, and nowhere else, `request.cf` names a data centre.
 */
export function clientAddress(cf: unknown, headers: RawHeaders): string | undefined {
  if (!isJsonObject(cf)) return undefined;
  const { clientIp, colo } = cf;
  if (typeof clientIp === 'string') return addressWithPort.exec(clientIp)?.[1];
  const told = typeof colo === 'string' ? firstHeader(headers, 'cf-connecting-ip')?.trim() : undefined;
  return told !== undefined && ipAddress.test(told) ? told : undefined;
}
