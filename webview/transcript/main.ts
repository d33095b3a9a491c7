import './transcript.css';
import {
	type TranscriptCommand,
	type TranscriptEvent,
	transcriptEventSchema,
	transcriptRequests,
} from '../../src/protocol/transcriptMessages.ts';
import { Bridge } from '../lib/bridge.ts';
import { registerControls } from '../lib/controls.ts';
import { reportFaults } from '../lib/faultReports.ts';
import { App } from './app.ts';
import { type SavedState, savedStateSchema } from './savedState.ts';
import { TranscriptModel } from './transcriptModel.ts';

registerControls();

const report = reportFaults((message) => bridge.post({ type: 'fault', message }));
const bridge = new Bridge<TranscriptEvent, TranscriptCommand, SavedState, typeof transcriptRequests>({
	events: transcriptEventSchema,
	requests: transcriptRequests,
	state: savedStateSchema,
	onFault: report,
});

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
