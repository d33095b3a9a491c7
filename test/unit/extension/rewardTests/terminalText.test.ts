import assert from 'node:assert/strict';
import { test } from 'node:test';
import { terminalLine } from '../../../../src/extension/rewardTests/terminalText.ts';

test('reward output cannot send control sequences to the test terminal', () => {
	const hostile = [
		'\u001b]8;;command:workbench.action.quit\u0007click\u001b]8;;\u0007',
		'\u001b]52;c;aGk=\u0007',
		'\u009b2Jgone',
		'right \u202eleft',
		'one\r\ntwo\rthree',
	];
	for (const line of hostile) {
		const shown = terminalLine(line);
		assert.match(shown, /\r\n$/);
		assert.doesNotMatch(shown.slice(0, -2), /[\p{Cc}\p{Cf}]/u, JSON.stringify(shown));
	}
	assert.equal(terminalLine('\tvalue  0.5 é 日'), '    value  0.5 é 日\r\n');
});
