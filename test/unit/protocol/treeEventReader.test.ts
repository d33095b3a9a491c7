import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../src/base/random.ts';
import { decode } from '../../../src/protocol/decode.ts';
import { readTreeEvent, readTreeEventLines, treeEventLines } from '../../../src/protocol/treeEventReader.ts';
import { treeEventSchema } from '../../../src/protocol/treeLog.ts';
import { agentEvents, mctsEvents } from '../../support/treeEvents.ts';

const odd: readonly unknown[] = [
	null,
	'absent',
	0,
	-1,
	1.5,
	Number.POSITIVE_INFINITY,
	'',
	'thought',
	'person',
	true,
	[],
	[1],
	[-1],
	['a'],
	{},
	{ id: 1, value: 2 },
	[{ id: 1, value: 'x' }],
];

/** Every field of any event, so new fields are tested automatically. */
const fields = [...new Set(treeEventSchema.options.flatMap(({ entries }) => Object.keys(entries))), 'other'];

test('events are read exactly as the schema reads them, whatever a line contains', () => {
	const random = Random.of(1, 'events');
	const events = [...mctsEvents({ nodes: 60 }), ...agentEvents()];
	let refused = 0;
	for (let i = 0; i < 6000; i++) {
		const event = structuredClone(random.pick(events)) as Record<string, unknown>;
		const names = [...Object.keys(event), ...fields];
		for (let changes = random.int(3); changes > 0; changes--) {
			const name = random.pick(names);
			const value = structuredClone(random.pick(odd));
			if (value === 'absent') delete event[name];
			else event[name] = value;
		}
		const expected = decode(treeEventSchema, structuredClone(event));
		const read = readTreeEvent(structuredClone(event));
		if (!expected.ok) refused++;
		assert.deepEqual(read, expected.ok ? expected.value : null, JSON.stringify(event));
	}
	assert.ok(refused > 500, `${refused}`);
	for (const value of [null, 1, 'x', [], [{ t: 'resume' }], { t: 'unknown', at: 1 }])
		assert.equal(readTreeEvent(value), null);
});

test('events survive a round trip through lines, and an invalid line does not shift the numbers of others', () => {
	const events = mctsEvents({ nodes: 30 });
	assert.deepEqual(readTreeEventLines(treeEventLines(events)), events);
	const lines = treeEventLines(events).split('\n');
	lines[7] = `${lines[7]?.slice(0, 20)}`;
	lines[9] = '{"t":"visit","at":0,"path":[1],"values":"no"}';
	const read = readTreeEventLines(lines.join('\n'));
	assert.equal(read.length, events.length);
	assert.deepEqual([read[7]?.t, read[9]?.t], ['fault', 'fault']);
	assert.deepEqual(read[8], events[8]);
	assert.deepEqual(readTreeEventLines(''), []);
});
