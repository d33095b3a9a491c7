import '../vscodeHook.ts';
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { commandIds } from '../../../../src/extension/ids.ts';
import { Uri, window } from '../vscodeStandIn.ts';

const { transcriptCommands } = await import('../../../../src/extension/commands/transcriptCommands.ts');

const opened: unknown[] = [];
const { [commandIds.openTranscript]: run } = transcriptCommands({ open: (place) => opened.push(place) });

/** Resolves to what the command opens, or null if nothing. */
async function place(argument?: unknown): Promise<unknown> {
	opened.length = 0;
	await run(argument);
	assert.ok(opened.length <= 1);
	return opened[0] ?? null;
}

const noEditor = { activeTextEditor: undefined, tabGroups: { activeTabGroup: {} } };
/** Sets the file selected in the next dialog. */
const choose = (file: string | undefined) =>
	Object.assign(window, { showOpenDialog: async () => file && [Uri.file(file)] });
const edit = (path: string, text: string) => {
	const lines = text.split('\n');
	Object.assign(window, {
		activeTextEditor: {
			document: {
				uri: Uri.file(path),
				lineCount: lines.length,
				positionAt: (offset: number) => ({ line: 0, character: offset }),
				getText: (range: { start: number; end: number }) => lines.slice(range.start, range.end + 1).join('\n'),
			},
		},
	});
};

afterEach(() => void Object.assign(window, noEditor));
Object.assign(window, noEditor);

test('a file, a path and a rollout open as specified', async () => {
	assert.deepEqual(await place(Uri.file('/w/chat.json')), { kind: 'file', file: '/w/chat.json' });
	assert.deepEqual(await place('/w/./x/../chat.json'), { kind: 'file', file: '/w/chat.json' });
	const rollout = { kind: 'rollout', run: '/runs/a', split: 'train', step: 3, group: 1, index: 0 };
	const { split: _, ...bare } = rollout;
	assert.deepEqual(await place(bare), rollout);
	assert.deepEqual(await place({ ...rollout, split: 'validation' }), { ...rollout, split: 'validation' });
});

test('any other argument is rejected with a reason', async () => {
	await assert.rejects(place(new Uri('git', '/w/chat.json')), /not a file on this machine/);
	await assert.rejects(place('chat.json'), /chat\.json is not an absolute path/);
	await assert.rejects(
		place({ kind: 'rollout', run: 'a', split: 'train', step: 3, group: 1, index: 0 }),
		/is not an absolute path/,
	);
	await assert.rejects(place({ kind: 'rollout' }), /requires a file or a rollout/);
});

test('without an argument, the chat log in the active editor opens, or else a file dialog', async () => {
	const messages = '[{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Yes?"}]';
	edit('/w/log.json', messages);
	assert.deepEqual(await place(), { kind: 'file', file: '/w/log.json' });
	// The context menu's target takes precedence over the active editor.
	assert.deepEqual(await place('/w/other.json'), { kind: 'file', file: '/w/other.json' });
	edit('/w/code.ts', 'export const one = 1;');
	choose('/w/chosen.jsonl');
	assert.deepEqual(await place(), { kind: 'file', file: '/w/chosen.jsonl' });
	choose(undefined);
	assert.equal(await place(), null, 'the dialog was dismissed');
});
