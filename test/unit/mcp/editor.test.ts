import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Editor } from '../../../src/mcp/editor.ts';

async function folderFor(t: TestContext): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), 'editor-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	return folder;
}

/** Waits for a request and answers it as a window does. @returns the request */
async function answer(folder: string, text: string): Promise<unknown> {
	for (;;) {
		const name = (await readdir(folder)).find((one) => one.endsWith('.request.json'));
		if (name !== undefined) {
			const request: unknown = JSON.parse(await readFile(join(folder, name), 'utf8'));
			await writeFile(join(folder, name.replace('.request.', '.answer.')), text);
			return request;
		}
		await new Promise((resolve) => setTimeout(resolve, 5));
	}
}

const request = { show: 'address', address: 'rl://sums/step/3' } as const;
const { signal } = new AbortController();

test('a request reaches the window, whose answer is passed on, and leaves no files', async (t) => {
	const folder = await folderFor(t);
	const editor = new Editor(folder);
	const [asked] = await Promise.all([answer(folder, '{"failure":null}'), editor.show(request, signal)]);
	assert.deepEqual(asked, request);
	const refused = editor.show(request, signal);
	await Promise.all([
		answer(folder, '{"failure":"No run named \\"sums\\"."}'),
		assert.rejects(refused, /No run named "sums"/),
	]);
	assert.deepEqual(await readdir(folder), []);
});

test('a canceled request settles, and so does one to a window that is gone', async (t) => {
	const folder = await folderFor(t);
	const controller = new AbortController();
	const canceled = new Editor(folder).show(request, controller.signal);
	controller.abort();
	await assert.rejects(canceled, { reason: 'cancelled' });
	await assert.rejects(new Editor(join(folder, 'gone')).show(request, signal));
	assert.deepEqual(await readdir(folder), []);
});
