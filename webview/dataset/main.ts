import './dataset.css';
import { datasetEventSchema, datasetRequests } from '../../src/protocol/datasetMessages.ts';
import { startApp } from '../lib/startApp.ts';
import { App } from './app.ts';
import { DatasetModel } from './datasetModel.ts';
import { savedStateSchema } from './savedState.ts';

startApp({ events: datasetEventSchema, requests: datasetRequests, state: savedStateSchema }, (bridge, root) => {
	const model = new DatasetModel(bridge, bridge.restoreState());
	new App(root, model);
	return { model, saved: () => model.saved, saves: (change) => (change === 'shown' ? 'now' : 'never') };
});
