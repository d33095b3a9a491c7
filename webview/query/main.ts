import './query.css';
import {
	type QueryCommand,
	type QueryEvent,
	queryEventSchema,
	queryRequests,
} from '../../src/protocol/queryMessages.ts';
import { Bridge } from '../lib/bridge.ts';
import { registerControls } from '../lib/controls.ts';
import { App } from './app.ts';
import { QueryModel } from './queryModel.ts';
import { type SavedState, savedStateSchema } from './savedState.ts';

registerControls();

const bridge = new Bridge<QueryEvent, QueryCommand, SavedState, typeof queryRequests>({
	events: queryEventSchema,
	requests: queryRequests,
	state: savedStateSchema,
	onFault: (message) => report(message),
});

function report(message: string): void {
	bridge.post({ type: 'fault', message: message.slice(0, 20_000) });
}
window.addEventListener('error', ({ message, error }) => {
	// Not an error: rows that were measured made others come into view, which are measured in the next frame.
	if (message.startsWith('ResizeObserver loop')) return;
	report(error instanceof Error ? (error.stack ?? message) : message);
});
window.addEventListener('unhandledrejection', ({ reason }) => report(String(reason?.stack ?? reason)));

const model = new QueryModel(
	{
		request: (method, params) => bridge.request(method, params),
		post: (command) => bridge.post(command),
	},
	bridge.restoreState(),
);
const root = document.getElementById('app');
if (!root) throw new Error('The page has no #app.');
new App(root, model);

bridge.saveState(model.saved);
model.onChange((change) => {
	if (change === 'question') bridge.saveState(model.saved);
});
bridge.onEvent((event) => model.receive(event));
bridge.post({ type: 'ready' });
