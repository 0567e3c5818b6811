// SPDX-License-Identifier: Apache-2.0
// An ordered set for code that may not use malloc: a treap of nodes that belong to the caller and
// are linked through a member of theirs, so that it never needs memory and never fails. Searching,
// inserting and erasing take O(log n) steps on average whatever the order of the keys, and none
// of them recurses.
#pragma once

#include <cstdint>

namespace nvs::interposer::vmm {

template <class Node>
struct TreeLinks {
  Node* left = nullptr;
  Node* right = nullptr;
  std::uint32_t priority = 0;  // a node's is never below those of its children
};

// Node has a member `TreeLinks<Node> links`; a node is in one tree at a time. `Order::key(node)`
// gives its key, which no other node in the tree has; keys compare with `<`.
template <class Node, class Order>
class Tree {
 public:
  bool is_empty() const { return root_ == nullptr; }

  // The last node that is not above the key; null if there is none.
  template <class Key>
  Node* floor(const Key& key) const {
    Node* best = nullptr;
    for (Node* node = root_; node != nullptr;) {
      const bool is_above = key < Order::key(*node);
      if (!is_above) best = node;
      node = is_above ? node->links.left : node->links.right;
    }
    return best;
  }

  // The first node that is not below the key; null if there is none.
  template <class Key>
  Node* ceiling(const Key& key) const {
    Node* best = nullptr;
    for (Node* node = root_; node != nullptr;) {
      const bool is_below = Order::key(*node) < key;
      if (!is_below) best = node;
      node = is_below ? node->links.right : node->links.left;
    }
    return best;
  }

  Node* first() const {
    Node* node = root_;
    while (node != nullptr && node->links.left != nullptr) node = node->links.left;
    return node;
  }

  // The node after that of this key, whether or not there is one with the key itself.
  template <class Key>
  Node* after(const Key& key) const {
    Node* best = nullptr;
    for (Node* node = root_; node != nullptr;) {
      const bool is_above = key < Order::key(*node);
      if (is_above) best = node;
      node = is_above ? node->links.left : node->links.right;
    }
    return best;
  }

  void insert(Node* node) {
    const auto key = Order::key(*node);
    node->links.priority = next_random();
    Node** link = &root_;
    while (*link != nullptr && (*link)->links.priority >= node->links.priority) {
      link = key < Order::key(**link) ? &(*link)->links.left : &(*link)->links.right;
    }
    // The node takes the place of a subtree, which is split into what is below and above it.
    Node* rest = *link;
    *link = node;
    Node** below = &node->links.left;
    Node** above = &node->links.right;
    while (rest != nullptr) {
      const bool is_below = Order::key(*rest) < key;
      Node**& end = is_below ? below : above;
      *end = rest;
      end = is_below ? &rest->links.right : &rest->links.left;
      rest = *end;
    }
    *below = nullptr;
    *above = nullptr;
  }

  // Its key must be as it was when it came in. One that is not in the tree is left alone.
  void erase(Node* node) {
    const auto key = Order::key(*node);
    Node** link = &root_;
    while (*link != nullptr && *link != node) {
      link = key < Order::key(**link) ? &(*link)->links.left : &(*link)->links.right;
    }
    if (*link == nullptr) return;
    Node* left = node->links.left;
    Node* right = node->links.right;
    while (left != nullptr && right != nullptr) {
      const bool is_left = left->links.priority >= right->links.priority;
      Node*& top = is_left ? left : right;
      *link = top;
      link = is_left ? &top->links.right : &top->links.left;
      top = *link;
    }
    *link = left != nullptr ? left : right;
    node->links = {};
  }

 private:
  // Priorities need not be unpredictable, only unlike the order of the keys (xorshift32).
  std::uint32_t next_random() {
    random_ ^= random_ << 13U;
    random_ ^= random_ >> 17U;
    random_ ^= random_ << 5U;
    return random_;
  }

  Node* root_ = nullptr;
  std::uint32_t random_ = 0x9E3779B9U;
};

}  // namespace nvs::interposer::vmm
