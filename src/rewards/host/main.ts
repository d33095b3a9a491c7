// Node reward host: `node rewardHost.js`. It starts empty, loads rewards once and then scores batches, or loads an
// environment and runs its episodes. Requests arrive on file descriptor 3 and replies are sent on 4, because standard
// output belongs to the rewards. With a debugger, `node rewardHost.js --once REQUEST REPLY` scores the request in a file,
// and `--episode` plays the episode in it.
import module from 'node:module';
import { Socket } from 'node:net';
import { dirname } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import {
	type CancellationToken,
	createMessageConnection,
	ErrorCodes,
	type MessageConnection,
	ResponseError,
	StreamMessageWriter,
} from 'vscode-jsonrpc/node';
import { nodeIsNewEnough } from '../../base/nodeVersion.ts';
import { decodeOrThrow } from '../../protocol/decode.ts';
import { environmentHostMethods } from '../../protocol/environmentHost.ts';
import { loadRequestSchema, rewardHostMethods, scoreRequestSchema } from '../../protocol/rewardHost.ts';
import { messageReader } from '../../rpc/messageReader.ts';
import { canceledCode, loadFailedCode, refusedExit } from '../hostContract.ts';
import { Capture } from './capture.ts';
import type { EnvironmentRequests } from './environments/environmentRequests.ts';
import { LoadFault } from './importFile.ts';
import { LocalImports } from './localImports.ts';
import { scoreOnce } from './once.ts';
import { RewardServer } from './rewardServer.ts';
import { messageOf } from './userFrames.ts';

if (!nodeIsNewEnough(process.versions.node)) {
	console.error(`Node ${process.versions.node} is too old.`);
	process.exit(refusedExit);
}

// Prevents Electron programs that a reward starts from running as Node.
delete process.env.ELECTRON_RUN_AS_NODE;

const capture = new Capture();
const imports = new LocalImports();
const own = dirname(fileURLToPath(import.meta.url));
const server = new RewardServer(capture, imports, own);
const [mode, requestPath = '', replyPath = ''] = process.argv.slice(2);
if (mode === '--once') await scoreOnce(server, requestPath, replyPath);
else if (mode === '--episode') {
	const { playOnce } = await import('./environments/episodeOnce.ts');
	await playOnce(capture, imports, own, requestPath, replyPath);
} else serve();

/** Runs a task that the token can cancel. Exceptions become error responses. */
async function cancellable(
	token: CancellationToken,
	work: (signal: AbortSignal) => Promise<unknown>,
): Promise<unknown> {
	const controller = new AbortController();
	const listener = token.onCancellationRequested(() => controller.abort());
	try {
		return await work(controller.signal);
	} catch (error) {
		if (controller.signal.aborted) throw new ResponseError(canceledCode, 'Canceled.');
		if (error instanceof LoadFault) throw new ResponseError(loadFailedCode, error.message, error.data);
		throw new ResponseError(ErrorCodes.InternalError, messageOf(error));
	} finally {
		listener.dispose();
	}
}

function serve(): void {
	capture.install();
	const requests = new Socket({ fd: 3, readable: true, writable: false });
	const replies = new Socket({ fd: 4, readable: false, writable: true });
	const silent = { error: () => {}, warn: () => {}, info: () => {}, log: () => {} };
	const connection = createMessageConnection(messageReader(requests), new StreamMessageWriter(replies), silent);

	// The parent process has exited or wants this process to exit.
	const end = () => capture.exit(0);
	for (const socket of [requests, replies]) {
		socket.on('error', end);
		socket.on('close', end);
	}
	connection.onClose(end);
	connection.onError(end);

	connection.onRequest(rewardHostMethods.load, (params: unknown, token: CancellationToken) =>
		cancellable(token, () => server.load(decodeOrThrow(loadRequestSchema, params, 'The request to load'))),
	);
	connection.onRequest(rewardHostMethods.score, (params: unknown, token: CancellationToken) =>
		cancellable(token, (signal) =>
			server.score(decodeOrThrow(scoreRequestSchema, params, 'The request to score'), signal),
		),
	);
	serveEnvironments(connection);
	connection.listen();
	// The first use of type stripping loads its parser. Do that now, while nothing is waiting.
	setImmediate(() => module.stripTypeScriptTypes(''));
}

/** Answers requests to run an environment. Loads their code on first use, because most hosts only run rewards. */
function serveEnvironments(connection: MessageConnection): void {
	let requests: Promise<EnvironmentRequests> | undefined;
	const open = async () => {
		const { EnvironmentRequests } = await import('./environments/environmentRequests.ts');
		return new EnvironmentRequests(capture, imports, own);
	};
	for (const method of Object.values(environmentHostMethods)) {
		connection.onRequest(method, (params: unknown, token: CancellationToken) => {
			requests ??= open();
			const opened = requests;
			return cancellable(token, async () => (await opened).answer(method, params));
		});
	}
}
