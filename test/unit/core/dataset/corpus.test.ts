import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Failure } from '../../../../src/base/failure.ts';
import { parseCorpus } from '../../../../src/core/dataset/corpus.ts';
import { EpochOrder } from '../../../../src/core/dataset/epochOrder.ts';

const settings = { path: 'texts.jsonl', text: 'text', heldOutShare: 0.3 };
const lines = (...values: unknown[]) => values.map((value) => JSON.stringify(value)).join('\n');

test('a corpus is split by the content of its texts', () => {
	const texts = Array.from({ length: 400 }, (_, i) => `text ${i}`);
	const { training, heldOut } = parseCorpus(lines(...texts.map((text) => ({ text }))), settings);
	assert.deepEqual([...training, ...heldOut].sort(), [...texts].sort());
	assert.ok(heldOut.length > 80 && heldOut.length < 160, `${heldOut.length}`);
	// The same text with different whitespace stays in the same split.
	const spaced = parseCorpus(
		`${heldOut.map((text) => ` ${text.replace(' ', '  ')}`).join('\n')}\nmore\nand more\nyet more`,
		{
			...settings,
			path: 'texts.txt',
		},
	);
	assert.equal(spaced.heldOut.filter((text) => text.includes('text ')).length, heldOut.length);
	assert.ok(spaced.training.every((text) => !text.includes('text ')));
});

test('a plain file has one text per line, and a byte order mark is ignored', () => {
	const { training } = parseCorpus('\uFEFFone\r\n\n  \ntwo\n', { ...settings, path: 'a.TXT', heldOutShare: 0 });
	assert.deepEqual(training, ['one', 'two']);
});

test('an invalid line and a file without texts are reported', () => {
	const refused = (content: string, pattern: RegExp, own = settings) =>
		assert.throws(
			() => parseCorpus(content, own),
			(error: Failure) => {
				assert.equal(error.reason, 'invalid');
				assert.match(error.message, pattern);
				return true;
			},
		);
	refused(`${lines({ text: 'a' })}\n{`, /line 2, is not JSON/);
	refused('["a"]', /line 1, is not a JSON object/);
	refused(lines({ texts: 'a' }), /has no column "text"/);
	refused(lines({ text: 3 }), /has a "text" that is not a string/);
	refused(lines({ text: 'a<eos>' }), /reserved symbol <eos>/);
	refused('\n\n', /contains no text/);
	refused(lines({ text: 'a' }), /every example is held out/, { ...settings, heldOutShare: 1 });
});

test('rows occur once per epoch, in an order determined by the seed and the epoch', () => {
	const order = new EpochOrder(7, 5, 'test');
	const places = Array.from({ length: 21 }, (_, i) => order.at(i));
	for (const epoch of [0, 7, 14]) assert.equal(new Set(places.slice(epoch, epoch + 7)).size, 7);
	assert.notDeepEqual(places.slice(0, 7), places.slice(7, 14));
	const again = new EpochOrder(7, 5, 'test');
	assert.deepEqual(
		[13, 3, 20].map((place) => again.at(place)),
		[places[13], places[3], places[20]],
	);
});
