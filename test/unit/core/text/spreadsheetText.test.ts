import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spreadsheetText } from '../../../../src/core/text/spreadsheetText.ts';

test('anything a spreadsheet would execute becomes text, and numbers stay numbers', () => {
	for (const text of ['=1', '=HYPERLINK("x")', '@a', '+a', '-a', '--1', '\t=1', '\r=1', '-', '+1e', '-1+cmd']) {
		assert.equal(spreadsheetText(text), `'${text}`);
	}
	for (const text of ['', 'a', '-1', '+1.5e-3', '-.5', '1=1', ' =1']) assert.equal(spreadsheetText(text), text);
});
