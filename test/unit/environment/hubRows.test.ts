import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { downloadHubRows } from '../../../src/environment/hubRows.ts';

const gsm8k = { id: 'openai/gsm8k', config: 'main', split: 'test' };

/** Creates a stand-in for Python that records its arguments and runs `body`, where `$out` is the output file. */
async function placeWith(context: { after(work: () => unknown): void }, body: string) {
	const folder = await mkdtemp(join(tmpdir(), 'hub-rows-'));
	context.after(() => rm(folder, { recursive: true, force: true }));
	const python = join(folder, 'python');
	const find = 'out=; for a in "$@"; do [ "$last" = --out ] && out=$a; last=$a; done';
	await writeFile(python, `#!/bin/sh\n${find}\necho "$@" > ${folder}/given\n${body}\n`, { mode: 0o755 });
	const out = join(folder, 'kept', 'rows.jsonl');
	return { folder, python, out, kept: () => readdir(join(folder, 'kept')) };
}

test('downloaded rows are moved into place complete, with progress reports', {
	skip: process.platform === 'win32',
}, async (t) => {
	const place = await placeWith(
		t,
		`printf '{"question":"q"}\\n' > "$out"; echo 'a warning'; echo '{"rows": 1}'; echo '{"rows": 2, "whole": false}'`,
	);
	const reported: number[] = [];
	const { python, out } = place;
	const made = await downloadHubRows(gsm8k, { python, rows: 2, out, onProgress: (rows) => reported.push(rows) });
	assert.deepEqual(made, { rows: 2, whole: false });
	assert.deepEqual(reported, [1]);
	assert.equal(await readFile(out, 'utf8'), '{"question":"q"}\n');
	assert.deepEqual(await place.kept(), ['rows.jsonl']);
	const given = await readFile(join(place.folder, 'given'), 'utf8');
	assert.match(
		given,
		/^-m reasoning_lab_trainer\.data\.hub_rows openai\/gsm8k --split test --config main --rows 2 --out /,
	);
});

test('failures are reported with their own message and leave no files behind', {
	skip: process.platform === 'win32',
}, async (t) => {
	const failure = '{"failure": {"reason": "unavailable", "message": "The hub cannot be reached.", "action": "Wait."}}';
	const gone = await placeWith(t, `echo half > "$out"; echo '${failure}'; exit 1`);
	await assert.rejects(downloadHubRows(gsm8k, { ...gone, rows: 0 }), {
		...{ reason: 'unavailable', message: 'The hub cannot be reached.', action: 'Wait.' },
	});
	assert.deepEqual(await gone.kept(), []);
	const lacks = await placeWith(t, `echo "ModuleNotFoundError: No module named 'datasets'" >&2; exit 1`);
	await assert.rejects(downloadHubRows(gsm8k, { ...lacks, rows: 0 }), {
		reason: 'missing',
		message: /named 'datasets'/,
	});
	const silent = await placeWith(t, 'echo half > "$out"; exit 0');
	await assert.rejects(downloadHubRows(gsm8k, { ...silent, rows: 0 }), { reason: 'internal' });
	assert.deepEqual(await silent.kept(), []);
	const slow = await placeWith(t, `echo half > "$out"; echo '{"rows": 1}'; sleep 600`);
	const cancel = new AbortController();
	const waiting = { ...slow, rows: 0, signal: cancel.signal, onProgress: () => cancel.abort() };
	await assert.rejects(downloadHubRows(gsm8k, waiting), { reason: 'cancelled' });
	assert.deepEqual(await slow.kept(), []);
});

test('only valid ids and names are passed to the program', async () => {
	const none = { python: 'no-such-python', rows: 1, out: join(tmpdir(), 'nothing.jsonl') };
	for (const id of ['', '../x', '/etc/passwd', '--help', 'a/b/c', 'data.jsonl', 'https://example.com/x']) {
		await assert.rejects(downloadHubRows({ ...gsm8k, id }, none), { reason: 'invalid' }, id);
	}
	await assert.rejects(downloadHubRows({ ...gsm8k, split: 'train[:5]' }, none), {
		message: /is not a valid split name/,
	});
	await assert.rejects(downloadHubRows({ ...gsm8k, config: '--rows' }, none), {
		message: /is not a valid configuration name/,
	});
	await assert.rejects(downloadHubRows(gsm8k, none), { reason: 'unavailable' });
});
