package storage

// DiskBytes returns roughly how much of the disk the store takes, with what readers and checkpoints still need.
func (s *Store) DiskBytes() (uint64, error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.leave()
	return s.db.Metrics().DiskSpaceUsage(), nil
}
