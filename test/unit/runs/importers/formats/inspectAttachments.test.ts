import assert from 'node:assert/strict';
import { it } from 'node:test';
import { inspectSample } from '../../../../../src/runs/importers/formats/inspectSample.ts';

it('references to a long attachment are replaced only up to a limit', () => {
	const hash = '0'.repeat(32);
	const content = `attachment://${hash} `.repeat(2000);
	const messages = [
		{ role: 'user', content: `attachment://${hash}` },
		{ role: 'assistant', content },
	];
	const sample = { id: 1, epoch: 1, messages, attachments: { [hash]: 'x'.repeat(1 << 20) } };
	const size = JSON.stringify(inspectSample(sample, 'log.eval', false)).length;
	assert.ok(size > 1 << 20 && size < 40 << 20, String(size));
});
