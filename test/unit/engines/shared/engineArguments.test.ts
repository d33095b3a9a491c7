import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { parseEngineArguments } from '../../../../src/engines/shared/engineArguments.ts';

const at = resolve('/somewhere');
const parse = (...argv: string[]) => parseEngineArguments(argv, at);

test('makes folders absolute', () => {
	const run = { kind: 'run', run: resolve(at, 'a'), resume: false, parentCheckpoint: null };
	assert.deepEqual(parse('--run', 'a'), run);
	assert.deepEqual(parse('--resume', '--run', 'a'), { ...run, resume: true });
	const parentCheckpoint = resolve(at, 'b/step_000010');
	assert.deepEqual(parse('--run', 'a', '--parent-checkpoint', 'b/step_000010'), { ...run, parentCheckpoint });
	const deviceGroup = { id: 'a-1', slots: 2 };
	assert.deepEqual(parse('--run', 'a', '--device-group', 'a-1:2'), { ...run, deviceGroup });
	const serve = { kind: 'serve', checkpoint: resolve('/c'), untilInputEnds: false };
	assert.deepEqual(parse('--serve', '/c'), serve);
	assert.deepEqual(parse('--until-input-ends', '--serve', '/c'), { ...serve, untilInputEnds: true });
});

for (const argv of [
	[],
	['--run'],
	['--run', ''],
	['--run', 'a', '--run', 'b'],
	['--run', 'a', '--serve', 'b'],
	['--serve', 'a', '--resume'],
	['--run', 'a', '--until-input-ends'],
	['--run', 'a', '--resume', '--parent-checkpoint', 'b'],
	['--fast', '--run', 'a'],
	['--run', 'a', '--device-group'],
	['--run', 'a', '--device-group', '../x:2'],
	['--run', 'a', '--device-group', 'x:0'],
	['--serve', 'a', '--device-group', 'x:2'],
]) {
	test(`rejects ${JSON.stringify(argv)} and shows the usage`, () => {
		assert.throws(() => parse(...argv), { reason: 'invalid', action: /^Usage: engine --run/ });
	});
}
