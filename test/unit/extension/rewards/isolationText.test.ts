import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isolationSentence, isolationText } from '../../../../src/extension/rewards/isolationText.ts';
import type { IsolationAttempt, IsolationReport } from '../../../../src/protocol/isolation.ts';

const attempt = (id: string, outcome: IsolationAttempt['outcome'], evidence = 'refused'): IsolationAttempt => ({
	id,
	area: 'files',
	tried: `Try ${id}`,
	expected: 'refused',
	outcome,
	evidence,
	durationMs: 1,
});

const report = (...attempts: readonly IsolationAttempt[]): IsolationReport => ({
	format: 1,
	kind: 'bubblewrap',
	description: 'bubblewrap: no network',
	gaps: [],
	attempts: [...attempts],
	held: attempts.filter(({ outcome }) => outcome === 'held').length,
	failed: attempts.filter(({ outcome }) => outcome === 'escaped').length,
	skipped: attempts.filter(({ outcome }) => outcome === 'skipped').length,
	untried: attempts.filter(({ outcome }) => outcome === 'untried').length,
	durationMs: 1500,
});

describe('the isolation report', () => {
	it('summarizes the result in one sentence', () => {
		const held = report(attempt('a', 'held'), attempt('b', 'held'), attempt('c', 'skipped'));
		assert.equal(isolationSentence(held), 'The sandbox (bubblewrap) blocked all 2 escape attempts. 1 skipped.');
		const broken = report(attempt('a', 'held'), attempt('b', 'escaped'), attempt('c', 'untried'));
		assert.equal(
			isolationSentence(broken),
			'The sandbox (bubblewrap) failed to block 1 of 2 escape attempts: b. 1 could not be tested: c.',
		);
		assert.equal(
			isolationSentence(report(attempt('a', 'held'), attempt('b', 'untried'))),
			'The sandbox (bubblewrap) blocked 1 escape attempt. 1 could not be tested: b.',
		);
		assert.equal(
			isolationSentence(report(attempt('a', 'untried'), attempt('b', 'untried'))),
			'The sandbox (bubblewrap) could not be checked. 2 could not be tested: a, b.',
		);
		const many = report(...Array.from({ length: 9 }, (_, i) => attempt(`x${i}`, 'escaped')));
		assert.match(isolationSentence(many), /: x0, x1, x2, x3, x4 and 4 more\.$/);
	});

	it('has a row per attempt', () => {
		const text = isolationText(report(attempt('a', 'held'), attempt('b', 'escaped', 'read 32 bytes')));
		assert.match(text, /^\| Try a \| refused \| held \| `refused` \|$/m);
		assert.match(text, /^\| Try b \| refused \| \*\*escaped\*\* \| `read 32 bytes` \|$/m);
		assert.match(text, /^## Files$/m);
		assert.doesNotMatch(text, /^## Network$/m);
	});

	it('shows sandbox output as plain text in its cell', () => {
		const hostile = '` | x |\n# Title\n[link](command:evil) \u001b[31m <b>';
		const text = isolationText(report(attempt('a', 'untried', hostile)));
		const row = text.split('\n').find((line) => line.includes('Try a')) ?? '';
		assert.equal(row, "| Try a | refused | **not tested** | `' ¦ x ¦ # Title [link](command:evil)  [31m <b>` |");
		assert.doesNotMatch(text, /^# Title/m);
	});
});
