import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { bundles } from '../../esbuild.mjs';
import { Failure } from '../../src/base/failure.ts';
import { TranscriptSession } from '../../src/extension/panels/transcript/transcriptSession.ts';
import { decodeOrThrow } from '../../src/protocol/decode.ts';
import { transcriptRequests } from '../../src/protocol/transcriptMessages.ts';
import { fromWebviewSchema } from '../../src/protocol/webviewMessages.ts';
import { type HostPage, serveHostPage } from './hostPage.ts';

/*
 * Runs the host side of a transcript panel in a separate process, like an extension host: transcriptHost.ts FILE.
 * Prints the page's URL on one line, and exits with its parent.
 */

async function main(file: string): Promise<void> {
	const root = fileURLToPath(new URL('../../', import.meta.url));
	const { outputFiles } = await build({
		...bundles({ production: true }).transcript,
		absWorkingDir: root,
		write: false,
	});
	const output = (end: string) => outputFiles?.find(({ path }) => path.endsWith(end))?.text ?? '';
	let page: HostPage | null = null;
	let session: TranscriptSession | null = null;
	const answer = async (method: string, params: unknown): Promise<unknown> => {
		if (session === null) throw new Error('The page is not open');
		if (method !== 'loadLines') throw new Error(`Unexpected request ${method}`);
		const { version, from, count } = decodeOrThrow(transcriptRequests.loadLines.params, params, 'loadLines');
		return session.lines(version, from, count);
	};
	page = await serveHostPage({
		script: output('.js'),
		style: output('.css'),
		onOpen: () => {
			session = new TranscriptSession({
				place: { kind: 'file', file },
				label: 'chat.jsonl',
				post: (event) => void page?.post({ kind: 'event', event }),
			});
		},
		onMessage: (message) => {
			const decoded = decodeOrThrow(fromWebviewSchema, message, 'A message from the page');
			if (decoded.kind === 'event') {
				const { type } = decoded.event as { type: string };
				if (type === 'ready') void session?.begin();
				else console.error(JSON.stringify(message));
				return;
			}
			const { id, method, params } = decoded;
			answer(method, params).then(
				(result) => page?.post({ kind: 'response', id, ok: true, result }),
				// Fails if the sample is still being read and has grown since the request.
				(error: unknown) => page?.post({ kind: 'response', id, ok: false, error: Failure.from(error).toJSON() }),
			);
		},
		stats: () => null,
	});
	process.stdin.on('end', () => process.exit(0)).resume();
	console.log(page.url);
}

await main(process.argv[2] as string);
