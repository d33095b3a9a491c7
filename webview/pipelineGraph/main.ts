import './pipelineGraph.css';
import { pipelineGraphEventSchema, pipelineGraphRequests } from '../../src/protocol/pipelineGraphMessages.ts';
import { startApp } from '../lib/startApp.ts';
import { App } from './app.ts';
import { PipelineModel } from './pipelineModel.ts';
import { savedStateSchema } from './savedState.ts';

startApp(
	{ events: pipelineGraphEventSchema, requests: pipelineGraphRequests, state: savedStateSchema },
	(bridge, root) => {
		const model = new PipelineModel(bridge.restoreState());
		new App(root, model, {
			open: (stage) => bridge.post({ type: 'open', stage }),
			act: (action) => bridge.post({ type: 'act', action }),
		});
		return { model, saved: () => model.saved() };
	},
);
