import { openApiV2Path } from '../../discovery/openapi-v2/server-document.ts';

type Answer = typeof import('../../discovery/openapi-v2/answer-openapi-v2.ts');

/**
 * Stands for `discovery/openapi-v2/answer-openapi-v2.ts` in the Worker's entry, as `lazy/documents.ts` does for the
 * other documents. A Worker keeps no merged OpenAPI v2 document, which takes work in the background, so that this is
 * for those who build an app of their own from the same modules.
 */
export function answerOpenApiV2(
  ...given: Parameters<Answer['answerOpenApiV2']>
): Promise<Response | undefined> | undefined {
  const [{ path }] = given;
  return path === openApiV2Path ? load(given) : undefined;
}

async function load(given: Parameters<Answer['answerOpenApiV2']>): Promise<Response | undefined> {
  const loaded = await import('../../discovery/openapi-v2/answer-openapi-v2.ts');
  return loaded.answerOpenApiV2(...given);
}
