#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>
namespace rclcpp_lifecycle
{
class State
{
};
}  // namespace rclcpp_lifecycle
namespace rclcpp
{
class Time
{
};
class Duration
{
};
class SystemDefaultsQoS
{
};
class Parameter
{
public:
  explicit Parameter(double value) : value_(value) {}
  double as_double() const { return value_; }

private:
  double value_;
};
template <class Message>
class Subscription
{
public:
  using SharedPtr = std::shared_ptr<Subscription<Message>>;
  std::function<void(std::shared_ptr<Message>)> callback;
};
}  // namespace rclcpp
namespace controller_interface
{
enum class CallbackReturn { SUCCESS, FAILURE, ERROR };
enum class return_type { OK, ERROR };
enum class interface_configuration_type { ALL, INDIVIDUAL, NONE };
struct InterfaceConfiguration
{
  interface_configuration_type type;
  std::vector<std::string> names = {};
};
class LoanedStateInterface
{
public:
  explicit LoanedStateInterface(const double * value) : value_(value) {}
#ifdef CASID_NEW_INTERFACES
  template <class T = double>
  std::optional<T> get_optional() const { return *value_; }
#else
  double get_value() const { return *value_; }
#endif

private:
  const double * value_;
};
class LoanedCommandInterface
{
public:
  explicit LoanedCommandInterface(double * value) : value_(value) {}
#ifdef CASID_NEW_INTERFACES
  [[nodiscard]] bool set_value(double value) { return *value_ = value, true; }
#else
  void set_value(double value) { *value_ = value; }
#endif

private:
  double * value_;
};
class Node
{
public:
  std::map<std::string, double> parameters;
  std::function<void(std::shared_ptr<void>)> publish;
  rclcpp::Parameter get_parameter(const std::string & name) const { return rclcpp::Parameter(parameters.at(name)); }
  template <class Message, class Callback>
  std::shared_ptr<rclcpp::Subscription<Message>> create_subscription(
    const std::string &, const rclcpp::SystemDefaultsQoS &, Callback && callback)
  {
    auto made = std::make_shared<rclcpp::Subscription<Message>>();
    made->callback = callback;
    publish = [made](std::shared_ptr<void> m) { made->callback(std::static_pointer_cast<Message>(m)); };
    return made;
  }
};
class ControllerInterface
{
public:
  virtual ~ControllerInterface() = default;
  virtual CallbackReturn on_init() = 0;
  virtual InterfaceConfiguration command_interface_configuration() const = 0;
  virtual InterfaceConfiguration state_interface_configuration() const = 0;
  virtual CallbackReturn on_configure(const rclcpp_lifecycle::State &) { return CallbackReturn::SUCCESS; }
  virtual CallbackReturn on_activate(const rclcpp_lifecycle::State &) { return CallbackReturn::SUCCESS; }
  virtual return_type update(const rclcpp::Time &, const rclcpp::Duration &) = 0;
  std::shared_ptr<Node> get_node() const { return node_; }
  template <class T>
  T auto_declare(const std::string & name, const T & value)
  {
    return node_->parameters.emplace(name, value).first->second;
  }
  std::vector<LoanedCommandInterface> command_interfaces_;
  std::vector<LoanedStateInterface> state_interfaces_;

private:
  std::shared_ptr<Node> node_ = std::make_shared<Node>();
};
}  // namespace controller_interface
