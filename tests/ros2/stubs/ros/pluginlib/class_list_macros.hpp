#pragma once
#include <memory>
// The real macro registers a factory; this one proves that the class is concrete and of the base.
#define PLUGINLIB_STUB_JOIN(a, b) a##b
#define PLUGINLIB_STUB_NAME(line) PLUGINLIB_STUB_JOIN(pluginlib_stub_factory_, line)
#define PLUGINLIB_EXPORT_CLASS(Derived, Base) \
  std::shared_ptr<Base> PLUGINLIB_STUB_NAME(__LINE__)(); \
  std::shared_ptr<Base> PLUGINLIB_STUB_NAME(__LINE__)() { return std::make_shared<Derived>(); }
