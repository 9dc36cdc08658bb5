import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../../scripts/package/make-package.ts';
import { publishedPage } from '../../scripts/package/published-page.ts';

const repository = 'git+https://github.com/owner/router.git';

test('links of a published page lead to the repository at the commit that was built, as no docs/ is in a package', () => {
  const page = [
    '[install](docs/start/install.md#the-image), [here](#here), [issue](https://example.com/1)',
    '<source srcset="docs/images/dark.png"><img alt="" src="docs/images/light.png">',
  ].join('\n');
  assert.equal(
    publishedPage(page, { repository, commit: 'abc' }),
    [
      '[install](https://github.com/owner/router/blob/abc/docs/start/install.md#the-image), [here](#here), [issue](https://example.com/1)',
      '<source srcset="https://github.com/owner/router/raw/abc/docs/images/dark.png"><img alt="" src="https://github.com/owner/router/raw/abc/docs/images/light.png">',
    ].join('\n'),
  );
  assert.equal(publishedPage(page, { repository: undefined, commit: undefined }), page);
});

for (const name of ['README.md', 'CHANGELOG.md']) {
  test(`no link of the published ${name} is dead`, () => {
    const text = readFileSync(join(root, name), 'utf8');
    const published = publishedPage(text, { repository, commit: 'abc' });
    const links = [...published.matchAll(/(?:\]\(|\ssrc(?:set)?=")([^)"]+)/g)].map(([, link = '']) => link);
    assert.ok(links.length >= 5);
    const base = /^https:\/\/github\.com\/owner\/router\/(?:blob|raw)\/abc\//;
    for (const link of links) {
      if (base.test(link)) assert.ok(existsSync(join(root, link.replace(base, '').replace(/#.*/, ''))), link);
      else assert.match(link, /^(?:#|https:\/\/)/);
    }
  });
}
