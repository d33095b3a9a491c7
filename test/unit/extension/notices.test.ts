import './vscodeHook.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../../src/base/failure.ts';
import { shown } from './vscodeStandIn.ts';

const { Notices } = await import('../../../src/extension/notices.ts');

test('a failure is shown as one sentence with an action, and nothing in it becomes a link', () => {
	const notices = new Notices({ error() {}, show() {} } as never);
	notices.failure(
		new Failure('invalid', '"[fix](command:workbench.action.quit)" is not a valid key.', 'Remove "$async".'),
	);
	notices.failure(new Failure('denied', 'Cannot create a run folder.'), [{ title: 'Open Log', run() {} }]);
	notices.failure(new Failure('cancelled', 'Canceled.'));
	assert.deepEqual(
		shown.map(({ level, text, items }) => [level, text, items.map(({ title }) => title)]),
		[
			['error', '"[fix] (command:workbench.action.quit)" is not a valid key. Remove "$async".', ['Show Log']],
			['error', 'Cannot create a run folder.', ['Open Log']],
		],
	);
});
