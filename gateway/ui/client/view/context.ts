import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Dashboard } from '../dashboard.ts';

export const DashboardContext = createContext<Dashboard | null>(null);

export function useDashboard(): Dashboard {
  const dashboard = useContext(DashboardContext);
  if (!dashboard) throw new Error('a view stands outside the dashboard');
  return dashboard;
}
