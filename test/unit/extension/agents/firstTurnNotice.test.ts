import '../vscodeHook.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';

const { FirstTurnNotice } = await import('../../../../src/extension/agents/firstTurnNotice.ts');

test('a chat reports once per model that only the first turn of an episode is sampled', () => {
	const shown: string[] = [];
	const notice = new FirstTurnNotice({ information: async (text) => void shown.push(text) });
	notice.report('sums, step 5', null);
	notice.report('guess, step 600', 'guess.env.py');
	notice.report('guess, step 600', 'guess.env.py');
	notice.report('guess, step 300', 'guess.env.py');
	assert.equal(shown.length, 2);
	assert.match(
		shown[0] ?? '',
		/^guess, step 600: This policy was trained on episodes in guess\.env\.py\. Only their first turn/,
	);
});
