import './transcript.css';
import {
	type TranscriptCommand,
	type TranscriptEvent,
	transcriptEventSchema,
	transcriptRequests,
} from '../../src/protocol/transcriptMessages.ts';
import { Bridge } from '../lib/bridge.ts';
import { registerControls } from '../lib/controls.ts';
import { App } from './app.ts';
import { type SavedState, savedStateSchema } from './savedState.ts';
import { TranscriptModel } from './transcriptModel.ts';

registerControls();

const bridge = new Bridge<TranscriptEvent, TranscriptCommand, SavedState, typeof transcriptRequests>({
	events: transcriptEventSchema,
	requests: transcriptRequests,
	state: savedStateSchema,
	onFault: (message) => report(message),
});

function report(message: string): void {
	bridge.post({ type: 'fault', message: message.slice(0, 20_000) });
}
window.addEventListener('error', ({ message, error }) => {
	// Not an error: rows that were measured made others come into view, which are measured in the next frame.
	if (message.startsWith('ResizeObserver loop')) return;
	report(error instanceof Error ? (error.stack ?? String(error)) : message);
});
window.addEventListener('unhandledrejection', ({ reason }) => report(String(reason)));

const model = new TranscriptModel(
	{
		post: (command) => bridge.post(command),
		loadText: (version, from) => bridge.request('loadText', { version, from }),
	},
	bridge.restoreState(),
);

const root = document.getElementById('app');
if (!root) throw new Error('The page has no #app.');
new App(root, model);

model.onChange(() => {
	const state = model.saved();
	if (state && model.phase === 'ready') bridge.saveState(state);
});
bridge.onEvent((event) => model.receive(event));
bridge.post({ type: 'ready' });
