import { statusResponse } from '../../apimachinery/status.ts';
import type { InboundRequest } from '../../request/inbound.ts';
import type { Router } from '../../request/router.ts';

/**
 * The same router, which also refuses targets that `fetch` would send in another form: what is decided on and signed
 * in assertions is what is forwarded, byte for byte. Asked after the router itself, whose refusals say more.
 */
export function refuseRewrittenTargets(router: Router): Router {
  const accept: Router['accept'] = (inbound) => {
    const accepted = router.accept(inbound);
    return accepted instanceof Response || !isRewritten(inbound) ? accepted : refusal();
  };
  return {
    ...router,
    accept,
    async admit(inbound) {
      const admission = await router.admit(inbound);
      return admission.kind === 'admitted' && isRewritten(inbound)
        ? { kind: 'refused', response: refusal() }
        : admission;
    },
  };
}

function isRewritten({ target }: InboundRequest): boolean {
  const url = `https://localhost${target}`;
  return URL.parse(url)?.href !== url;
}

function refusal(): Response {
  return statusResponse(
    'BadRequest',
    'request target refused: it holds characters that URLs do not, such as quotes or braces: percent-encode them',
  );
}
