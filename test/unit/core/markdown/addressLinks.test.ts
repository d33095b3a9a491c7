/** Tests the plugin in the parser of the editor's Markdown previews. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import markdownIt from 'markdown-it';
import { parseAddress } from '../../../../src/core/address/dataAddress.ts';
import { addressOfLink, openLink } from '../../../../src/core/address/openLink.ts';
import { addAddressLinks } from '../../../../src/core/markdown/addressLinks.ts';
import { hostileTexts } from '../../../support/hostileTexts.ts';

function rendered(text: string, options = {}): string {
	const parser = markdownIt({ html: true, linkify: true, ...options });
	addAddressLinks(parser, (address) => openLink('vscode', address));
	return parser.render(text);
}

/** Returns the addresses and texts of the links in HTML. */
const linksIn = (html: string) =>
	[...html.matchAll(/<a href="([^"]*)"[^>]*>(.*?)<\/a>/g)].map(([, href = '', text]) => [addressOfLink(href), text]);

const metric = 'rl://sums/metric/eval%2Fheld-out%2Faccuracy?step=2';
const tokens = 'rl://my_run_2/step/2/group/1/completion/0#tokens=1-3';

test('links, images, plain text, autolinks and code become links that open the same address', () => {
	assert.deepEqual(linksIn(rendered(`Reward is [**0.75**](${metric}), see ${tokens}.`)), [
		[metric, '<strong>0.75</strong>'],
		[tokens, tokens],
	]);
	assert.deepEqual(
		linksIn(rendered(`![Accuracy](${metric}) and <${tokens}> and \`${tokens}\` and [a][1]\n\n[1]: ${metric}`)),
		[
			[metric, 'Accuracy'],
			[tokens, tokens],
			[tokens, `<code>${tokens}</code>`],
			[metric, 'a'],
		],
	);
	assert.deepEqual(linksIn(rendered(`| a | b |\n|---|---|\n| ${metric} | **${tokens}** |\n\n- (${metric})`)), [
		[metric, metric],
		[tokens, tokens],
		[metric, metric],
	]);
	const [[address] = []] = linksIn(rendered('[x](rl://прогон/step/2)'));
	assert.deepEqual(parseAddress(address ?? ''), { kind: 'step', run: 'прогон', split: 'train', step: 2 });
});

test('other text stays as it is, and links are not nested', () => {
	const text =
		'[rl://sums/step/1](https://example.com) `a rl://sums b` www.example.com rl: //x\n\n```\nrl://sums\n```\n';
	assert.equal(rendered(text), markdownIt({ html: true, linkify: true }).render(text));
	const image = rendered(`[![chart](${metric})](${tokens})`);
	assert.deepEqual(linksIn(image), [[tokens, 'chart']]);
	assert.deepEqual(linksIn(rendered(`${metric} -- "${tokens}"`, { linkify: false, typographer: true })).length, 2);
});

test('hostile text around and in addresses becomes neither markup nor another link', () => {
	for (const hostile of [
		...Object.values(hostileTexts),
		'"><img src=x onerror=alert(1)>',
		"')</a><script>",
		'%22%3E%3Cscript%3E',
		'%zz',
	]) {
		for (const text of [`rl://sums/${hostile}`, `[x](rl://${hostile})`, `![${hostile}](rl://sums)`]) {
			const tags = (html: string) => [...html.matchAll(/<[a-z!][^>]*>/gi)].map(([tag]) => tag);
			const plain = new Set(tags(markdownIt({ linkify: true }).render(text)));
			for (const tag of tags(rendered(text, { html: false }))) {
				if (!tag.startsWith('<a href="vscode:')) assert.ok(plain.has(tag), tag);
				else
					assert.match(
						tag,
						/^<a href="vscode:\/\/reasoning-lab\.reasoning-lab\/open\?address=[\w%.~-]*" title="[^"]*">$/,
					);
			}
		}
	}
});
