#pragma once
namespace realtime_tools
{
template <class T>
class RealtimeBuffer
{
public:
  void writeFromNonRT(const T & data) { data_ = data; }
  T * readFromRT() { return &data_; }

private:
  T data_{};
};
}  // namespace realtime_tools
