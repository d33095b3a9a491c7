import './transcript.css';
import { transcriptEventSchema, transcriptRequests } from '../../src/protocol/transcriptMessages.ts';
import { startApp } from '../lib/startApp.ts';
import { App } from './app.ts';
import { savedStateSchema } from './savedState.ts';
import { TranscriptModel } from './transcriptModel.ts';

startApp({ events: transcriptEventSchema, requests: transcriptRequests, state: savedStateSchema }, (bridge, root) => {
	const model = new TranscriptModel(
		{
			post: (command) => bridge.post(command),
			loadText: (version, from) => bridge.request('loadText', { version, from }),
			loadLines: (version, from, count) => bridge.request('loadLines', { version, from, count }),
		},
		bridge.restoreState(),
	);
	new App(root, model);
	return { model, saved: () => (model.phase === 'ready' ? model.saved() : null) };
});
