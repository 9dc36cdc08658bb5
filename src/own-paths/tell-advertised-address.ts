import { createMiddleware } from 'hono/factory';
import {
  type AdvertisedServer,
  advertisedAddressHeader,
  formatAdvertisedServer,
} from '../snapshot/addresses/advertised-address.ts';

/** Where peers should call this router; `undefined` while it has nothing to say. */
export type AdvertisedSource = () => AdvertisedServer | undefined;

/**
 * Tells the sync job with each response to it, on refusals too: a router that cannot use what it is sent still knows
 * where it is.
 */
export function tellAdvertisedAddress(advertised: AdvertisedSource = () => undefined) {
  return createMiddleware(async (context, next) => {
    await next();
    const server = advertised();
    if (server !== undefined) context.header(advertisedAddressHeader, formatAdvertisedServer(server));
  });
}
