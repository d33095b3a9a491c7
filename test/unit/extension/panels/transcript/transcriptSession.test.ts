import assert from 'node:assert/strict';
import { mkdtemp, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { readTranscript, transcriptLimits } from '../../../../../src/core/transcript/readTranscript.ts';
import { TranscriptSession } from '../../../../../src/extension/panels/transcript/transcriptSession.ts';
import { openTranscriptText } from '../../../../../src/extension/panels/transcript/transcriptSource.ts';
import { wholeCharacters } from '../../../../../src/extension/panels/transcript/transcriptText.ts';
import type { TranscriptEvent, TranscriptPlace } from '../../../../../src/protocol/transcriptMessages.ts';
import { openRun } from '../../../../../src/runs/openRun.ts';
import { fixtureFolder } from '../../../runs/importers/foreignFixtures.ts';

async function folderOf(t: TestContext): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), 'transcript-session-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	return folder;
}

async function whole(place: TranscriptPlace): Promise<{ text: string; pieces: number }> {
	const source = await openTranscriptText(place);
	try {
		let text = '';
		let pieces = 0;
		for (let from: number | null = 0; from !== null; pieces++) {
			const piece: { text: string; next: number | null } = await source.piece(from);
			text += piece.text;
			from = piece.next;
		}
		return { text, pieces };
	} finally {
		await source.close();
	}
}

test('a file is sent in pieces that do not split characters', async (t) => {
	const file = join(await folderOf(t), 'log.json');
	const text = `"${'aé😀漢'.repeat(60_000)}"`;
	await writeFile(file, text);
	const read = await whole({ kind: 'file', file });
	assert.equal(read.text, text);
	assert.ok(read.pieces > 2);
});

test('pieces are split at character boundaries', () => {
	const bytes = (text: string) => Buffer.from(text);
	assert.equal(wholeCharacters(bytes('abc'), 3), 3);
	assert.equal(wholeCharacters(bytes('a😀'), 3), 1);
	assert.equal(wholeCharacters(bytes('a😀'), 5), 5);
	assert.equal(wholeCharacters(bytes('aé'), 2), 1);
	assert.equal(wholeCharacters(bytes('漢'), 2), 2, 'a piece is never empty');
	assert.equal(
		wholeCharacters(Buffer.from([0x80, 0x80, 0x80, 0x80]), 4),
		4,
		'bytes that are not text are kept unchanged',
	);
});

test('an unreadable file is rejected with one sentence', async (t) => {
	const folder = await folderOf(t);
	const at = (name: string): TranscriptPlace => ({ kind: 'file', file: join(folder, name) });
	await writeFile(join(folder, 'binary.txt'), Buffer.from([1, 2, 0, 3]));
	await writeFile(join(folder, 'huge.json'), '');
	await truncate(join(folder, 'huge.json'), transcriptLimits.characters + 1);
	await symlink(folder, join(folder, 'link'));
	await assert.rejects(openTranscriptText(at('binary.txt')), /binary\.txt is not text/);
	await assert.rejects(openTranscriptText(at('huge.json')), /is 32 MB; the limit is 32 MB/);
	await assert.rejects(openTranscriptText(at('gone.txt')), /Cannot read gone\.txt: no such file/);
	await assert.rejects(openTranscriptText(at('link')), /not a regular file/);
	await assert.rejects(openTranscriptText({ kind: 'file', file: '/dev/zero' }), /not a regular file/);
});

test("a rollout in any trainer's run is shown as a transcript of its turns", async () => {
	const folder = fixtureFolder('verifiers-v1');
	const run = await openRun(folder);
	const [step = 0] = await run.steps();
	const opened = await run.open(step);
	let checked = 0;
	for await (const { rollout, place } of opened.rollouts()) {
		if (rollout === null || checked === 3) continue;
		const { group, index } = place;
		const { text } = await whole({ kind: 'rollout', run: folder, split: 'train', step, group, index });
		const [transcript] = readTranscript(text, 'rollout').transcripts;
		const turns = typeof rollout.completion === 'string' ? 1 : rollout.completion.length;
		assert.ok((transcript?.messages.length ?? 0) > turns, 'messages of the prompt precede the turns');
		checked++;
	}
	await opened.close();
	assert.equal(checked, 3);
	await assert.rejects(
		whole({ kind: 'rollout', run: folder, split: 'train', step, group: 999_999, index: 0 }),
		/no completion 0 in group 999999/,
	);
});

test('a session reports each change once, settles requests for replaced pieces, and continues after a failure', async (t) => {
	const folder = await folderOf(t);
	const file = join(folder, 'log.json');
	await writeFile(file, '[1]');
	const events: Extract<TranscriptEvent, { type: 'snapshot' }>[] = [];
	const session = new TranscriptSession({
		place: { kind: 'file', file },
		label: 'log.json',
		post: (event) => {
			assert.equal(event.type, 'snapshot');
			if (event.type === 'snapshot') events.push(event);
		},
	});
	t.after(() => session.dispose());
	await session.refresh();
	assert.equal(events.length, 0, 'nothing is posted before the page has started');
	await session.begin();
	assert.deepEqual(
		events.map(({ version, size, failure }) => [version, size, failure]),
		[[1, 3, null]],
	);
	assert.deepEqual(await session.piece(1, 0), { text: '[1]', next: null });
	await session.refresh();
	assert.equal(events.length, 1, 'nothing has changed');
	await writeFile(file, '[1, 2]');
	await session.refresh();
	assert.equal(events.at(-1)?.version, 2);
	await assert.rejects(session.piece(1, 0), /has changed in the meantime/);
	await rename(file, join(folder, 'away'));
	await session.refresh();
	assert.match(events.at(-1)?.failure?.message ?? '', /no such file/);
	await session.refresh();
	assert.equal(events.length, 3, 'the failure is reported once');
	await rename(join(folder, 'away'), file);
	await session.refresh();
	assert.equal(events.at(-1)?.failure, null);
	assert.equal((await session.piece(events.at(-1)?.version ?? 0, 0)).text, '[1, 2]');
});
